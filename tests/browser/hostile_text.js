// Shows each text in every place that can show one, and returns what should not be there. Called by test_hostile_text.py.

async ([payloads, isRaw]) => {
    const { html, render } = await import("/static/preact.js");
    const load = (file) => import(`/static/render/${file}.js`);
    const [{ Markdown }, { ToolCard }, { Blocks }, { Steps }, { Usage }, { RewrittenQuery }, { TreeView }] =
        await Promise.all(["markdown", "toolcard", "blocks", "steps", "usage", "query", "tree"].map(load));
    const [{ sanitise }, { dress }] = await Promise.all(["sanitise", "dress"].map(load));
    const everywhere = (text) => html`
        <${Markdown} text=${text} />
        <${Markdown} text=${text} streaming=${true} breaks=${true} />
        <${ToolCard} call=${{ id: text, name: text, args: { [text]: text, deep: [text] } }} result=${null} note=${text} />
        <${ToolCard} call=${{ id: text, name: text, args: { [text]: text } }} result=${{ content: text, error: text }} />
        <${ToolCard} call=${{ args: text }} result=${{ content: JSON.stringify([{ [text]: text }]), duration_ms: text }} />
        <${Blocks} blocks=${[
            { type: "narrative", text },
            { type: "ranked_list", title: text, rows: [{ ticker: text, name: text, score: text, [text]: text }, text] },
            { type: "split_compare", title: text, leftTitle: text, rightTitle: text, left: text, right: [text, { text }] },
            { type: "split_compare", leftTitle: text, left: { [text]: text }, right: { [text]: [text], x: { text } } },
            { type: "table", title: text, columns: [text], rows: [[text, [text]], { [text]: text }] },
            { type: "chart", chart: text, title: text, unit: text, labels: [text],
              series: [{ name: text, values: [1] }, { name: text, points: [[text, 2], { x: text, y: 3 }] }] },
            { type: "chart", chart: "bar", unit: text, series: [{ name: text, points: [[text, 2], ["b", 3]] }] },
            { type: "citation", source: text, title: text, url: text, text },
            { type: text, [text]: text },
            { type: "gauge", props: { children: text, dangerouslySetInnerHTML: { __html: text } } },
        ]} />
        <${Steps} state=${{ state: text }} states=${[text, "b"]} />
        <${Usage} message=${{ usage: { input_tokens: text }, tool_trace: [{ kind: "context", first: text, tokens: text }] }} />
        <${RewrittenQuery} trace=${[{ kind: "query", question: text, rewritten: text + ".", words: [text], by: text, why: text,
            passages: [text, { title: text, url: text, text, score: text }] }]} />
        <${TreeView} tree=${{ branches: [{ head: 1, fork: text, is_current: text, preview: text, role: text }] }} />`;
    const forbidden = "script, style, link, meta, base, iframe, frame, object, embed, img, video, audio, form, input, select," +
        "textarea, math, template, foreignObject, image, use, animate, set, portal, applet, marquee, picture, source, track";
    const safe = /^(?:https?:|mailto:)/;
    const flaws = [];
    const root = document.getElementById("root");
    for (const text of payloads) {
        if (isRaw) root.replaceChildren(dress(sanitise(text)));
        else render(everywhere(text), root);
        for (const details of root.querySelectorAll("details")) details.open = true;
        const found = [...root.querySelectorAll(forbidden)].map((element) => element.outerHTML);
        for (const element of root.querySelectorAll("*")) {
            for (const name of element.getAttributeNames()) {
                const value = element.getAttribute(name);
                if (/^on|^(?:style|id|src|srcset|srcdoc|action|formaction|ping|background|poster|xlink:href|name)$/.test(name)) {
                    found.push(`${element.localName} ${name}=${value}`);
                }
                if (name === "href" && !(safe.test(value) && safe.test(element.href))) found.push(`href ${value}`);
                if (name === "href" && element.rel !== "noopener noreferrer nofollow") found.push(`rel ${value}`);
                if (name === "class" && !/^(?:(?:tk-|hljs-)[\w-]+|\w+_|\s)*$/.test(value)) found.push(`class ${value}`);
            }
            for (const event of ["mouseover", "focus", "toggle", "animationstart"]) {
                element.dispatchEvent(new Event(event, { bubbles: true }));
            }
            if (element.localName !== "a" && element.localName !== "button") element.dispatchEvent(new Event("click"));
        }
        if (found.length > 0) flaws.push([text, ...found]);
        await new Promise((resolve) => setTimeout(resolve));
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    return flaws;
}

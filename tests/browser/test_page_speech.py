"""Dictation and reading aloud, by a browser that has them: both are off until somebody wants them."""

from playwright.async_api import expect

from tests.browser.axe import find_nothing
from tests.browser.person import Api, Person
from tests.browser.waiting import until

# A browser whose voices note what they read, and that hears what `hear` is told.
VOICES = """
window.spoken = [];
const synthesis = {
    speak: (said) => window.spoken.push(said),
    cancel: () => window.spoken.length = 0,
};
Object.defineProperty(window, "speechSynthesis", { value: synthesis });
window.SpeechSynthesisUtterance = class extends EventTarget {
    constructor(text) { super(); this.text = text; }
};
window.SpeechRecognition = class extends EventTarget {
    start() { window.listener = this; }
    stop() { this.dispatchEvent(new Event("end")); }
};
window.hear = (transcript) => {
    const results = [Object.assign([{ transcript }], { isFinal: true })];
    window.listener.dispatchEvent(Object.assign(new Event("result"), { results, resultIndex: 0 }));
};
"""


async def test_answers_are_read_aloud_and_messages_dictated_when_that_is_wanted(person: Person, api: Api) -> None:
    page = person.page
    await page.add_init_script(VOICES)
    await person.open(await api.begin("Say **one**. And two."))
    aloud = person.answers.last.get_by_role("button", name="Read aloud")
    microphone = page.get_by_role("button", name="Dictate")
    await expect(aloud).to_have_count(0)
    await expect(microphone).to_have_count(0)

    await page.get_by_role("button", name="Preferences").click()
    sheet = page.get_by_test_id("preferences")
    await sheet.get_by_label("Dictate messages").check()
    await sheet.get_by_label("Read answers aloud").check()
    await find_nothing(page, "speech")
    await page.keyboard.press("Escape")
    await aloud.click()
    read = "() => window.spoken.slice(0, 2).map((one) => one.text.trim()).join('|')"
    await until(page, f"() => ({read})() === 'one.|And two.'")
    stop = person.answers.last.get_by_role("button", name="Stop reading")
    await stop.click()
    await until(page, "() => window.spoken.length === 0")
    await aloud.click()
    await page.evaluate("window.spoken.at(-1).dispatchEvent(new Event('end'))")
    await expect(aloud).to_be_visible()

    await person.field.fill("Say")
    await microphone.click()
    await page.evaluate("window.hear(' hello there ')")
    await expect(person.field).to_have_value("Say hello there")
    await find_nothing(page, "speech")
    await page.get_by_role("button", name="Stop dictating").click()
    await expect(microphone).to_be_visible()

    await page.reload()
    await expect(microphone).to_be_visible()
    await expect(aloud).to_be_visible()

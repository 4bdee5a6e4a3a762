"""Notes: what is ours is told apart from what people say, and comes back as it was written."""

from threadkeep.text.notes import earlier_note, note, said_earlier, split_notes, spoken_line


def test_notes_come_back_and_the_words_between_them_stay() -> None:
    text = f"{note('one')}\n\nWhat is [this]?\n\n{note('two [with] brackets')}"
    assert split_notes(text) == ("What is [this]?\n\n", ["one", "two [with] brackets"])


def test_a_note_that_does_not_end_is_words() -> None:
    assert split_notes("[Threadkeep: never") == ("[Threadkeep: never", [])
    assert split_notes("no note") == ("no note", [])


def test_lines_of_one_day_stand_under_one_date() -> None:
    lines = [("2025-01-01", "a"), ("2025-01-01", "b"), ("2025-01-02", "c")]
    assert earlier_note(lines).endswith(":\n2025-01-01\na\nb\n2025-01-02\nc]")


def test_what_somebody_said_earlier_is_found_by_the_speaker() -> None:
    lines = [
        ("2025-01-01", spoken_line("user", "I am Ada,\nan otter")),
        ("2025-01-02", spoken_line("assistant", "Hello")),
        ("2025-01-02", spoken_line("user", "Bye")),
    ]
    _, notes = split_notes(f"{earlier_note(lines)}\n\n{note('(user) not said')}")
    assert said_earlier(notes, "user") == ["I am Ada,\nan otter", "Bye"]
    assert said_earlier(notes, "assistant") == ["Hello"]

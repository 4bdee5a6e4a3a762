"""A terminal shows what was asked for and remarks; a pipe gets nothing but what was asked for."""

import io

from threadkeep_commands.terminal import Terminal


class Screen(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def test_in_a_pipe_remarks_go_to_the_standard_error_and_text_stays_as_it_is() -> None:
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(io.StringIO(), out, err, {})
    terminal.show("an \x1b[31manswer")
    terminal.say("a remark")
    assert (out.getvalue(), err.getvalue()) == ("an \x1b[31manswer\n", "a remark\n")
    assert not terminal.is_interactive


def test_on_a_screen_remarks_are_dim_and_begin_a_line_of_their_own() -> None:
    out = Screen()
    terminal = Terminal(Screen(), out, io.StringIO(), {})
    terminal.show("an answer")
    terminal.say("a remark")
    assert out.getvalue() == "an answer\n\x1b[2ma remark\x1b[0m\n"
    assert terminal.is_interactive


def test_colours_are_left_out_where_nobody_wants_or_can_show_them() -> None:
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        out = Screen()
        Terminal(Screen(), out, io.StringIO(), environment).say("a remark")
        assert out.getvalue() == "a remark\n"


def test_an_escape_sequence_is_shown_as_a_picture_and_not_obeyed() -> None:
    terminal = Terminal(Screen(), Screen(), io.StringIO(), {})
    assert terminal.harmless("\x1b[2J\x7f\x9b\r\na\tb") == "␛[2J␡\ufffd\na\tb"


def test_a_complaint_is_one_line() -> None:
    err = io.StringIO()
    Terminal(io.StringIO(), io.StringIO(), err, {}).complain("no\n  store")
    assert err.getvalue() == "threadkeep: no store\n"

"""The tree against one of plain parent pointers, driven through the same placement of entries as the stores use."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.conversation import Branch
from threadkeep.conversation.entry import Body, Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.tree import Jump, Run, Tree
from threadkeep.store.record import Record, Tip, place_entries

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Pointers:
    """A naive tree: each entry of a branch knows its parent. It grows a `Tree` beside it."""

    def __init__(self) -> None:
        self.parents: dict[int, int] = {}
        self.jumps: list[Jump] = []
        self.tip = Tip()

    def append(self, parent: int, bodies: list[Body]) -> None:
        record = Record(at=NOW, bodies=tuple(bodies), parent=parent)
        placed = place_entries(self.tip, record, "c", self._follower)
        for entry in placed.entries:
            if entry.continues_branch:
                self.parents[entry.seq] = entry.parent or 0
        self.tip = placed.tip
        self.jumps += placed.jumps

    def _follower(self, parent: int) -> int:
        """Return what continues the parent in its own run: its first child, unless that began by a jump."""
        jumped = {jump.first for jump in self.jumps}
        return next((seq for seq in self.children(parent) if seq not in jumped), 0)

    def choose(self, head: int) -> None:
        self.tip = self.tip._replace(last=self.tip.last + 1, head=head)

    def tree(self) -> Tree:
        return Tree(jumps=tuple(self.jumps), newest=self.tip.newest, head=self.tip.head)

    def children(self, parent: int) -> list[int]:
        return sorted(seq for seq, above in self.parents.items() if above == parent)

    def path(self, head: int) -> list[int]:
        path = []
        while head:
            path.append(head)
            head = self.parents[head]
        return path[::-1]

    def oldest_from(self, seq: int) -> int:
        while children := self.children(seq):
            seq = children[0]
        return seq

    def heads(self) -> list[int]:
        return sorted({seq for seq in self.parents if not self.children(seq)} | {self.tip.head} - {0})

    def fork(self, head: int) -> int | None:
        for seq in reversed(self.path(head)):
            parent = self.parents[seq]
            if parent and self.children(parent)[0] != seq:
                return parent
        return None


message = st.just(Message(id="m", role=Role.USER, content="x"))
remark = st.just(Summary(content="x"))
bodies = st.lists(st.one_of(message, message, remark), min_size=1, max_size=4)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("head"), st.just(0), bodies),
        st.tuples(st.just("parent"), st.integers(0, 1000), bodies),
        st.tuples(st.just("choose"), st.integers(0, 1000), st.just([])),
    ),
    max_size=25,
)


def _grown(plan: list[tuple[str, int, list[Body]]]) -> Pointers:
    naive = Pointers()
    for kind, number, what in plan:
        places = [0, *naive.parents]
        at = places[number % len(places)]
        if kind == "choose":
            naive.choose(at)
        else:
            naive.append(naive.tip.head if kind == "head" else at, what)
    return naive


def _seqs(naive: Pointers, runs: list[Run]) -> list[int]:
    return sorted(seq for run in runs for seq in naive.parents if run.first <= seq <= run.last)


@given(steps)
def test_paths_are_those_of_plain_pointers(plan: list[tuple[str, int, list[Body]]]) -> None:
    naive = _grown(plan)
    tree = naive.tree()
    for head in naive.parents:
        path = naive.path(head)
        assert _seqs(naive, tree.path(head)) == path
        assert [seq for seq in naive.parents if tree.holds(head, seq)] == path


@given(steps)
def test_branches_and_forks_are_those_of_plain_pointers(plan: list[tuple[str, int, list[Body]]]) -> None:
    naive = _grown(plan)
    expected = tuple(
        Branch(head=head, fork=naive.fork(head), is_current=head == naive.tip.head) for head in naive.heads()
    )
    assert naive.tree().branches() == expected


@given(steps)
def test_a_branch_parted_from_the_one_that_went_on_with_the_oldest_entries(
    plan: list[tuple[str, int, list[Body]]],
) -> None:
    naive = _grown(plan)
    tree = naive.tree()
    for branch in tree.branches():
        if branch.fork is not None:
            older = tree.older(branch.fork)
            assert older == naive.oldest_from(branch.fork)
            assert (naive.fork(older) or 0) < branch.fork


@given(steps)
def test_siblings_are_those_of_plain_pointers(plan: list[tuple[str, int, list[Body]]]) -> None:
    naive = _grown(plan)
    tree = naive.tree()
    for seq, parent in naive.parents.items():
        assert list(tree.siblings(seq, parent)) == naive.children(parent)


@given(steps)
def test_the_branch_with_an_entry_holds_it_and_is_the_current_one_if_it_can_be(
    plan: list[tuple[str, int, list[Body]]],
) -> None:
    naive = _grown(plan)
    tree = naive.tree()
    for seq in naive.parents:
        found = tree.branch_with(seq)
        assert seq in naive.path(found)
        assert found in naive.heads()
        if seq in naive.path(naive.tip.head):
            assert found == naive.tip.head
        else:
            assert found == max(head for head in naive.heads() if seq in naive.path(head))


@given(steps)
def test_a_tree_has_at_most_one_jump_for_each_append(plan: list[tuple[str, int, list[Body]]]) -> None:
    naive = _grown(plan)
    assert len(naive.jumps) <= len(plan)
    assert [jump.first for jump in naive.jumps] == sorted({jump.first for jump in naive.jumps})


def test_a_conversation_that_never_branched_has_no_jumps() -> None:
    naive = Pointers()
    for _ in range(50):
        naive.append(naive.tip.head, [Message(id="m", role=Role.USER, content="x"), Summary(content="s")])
    assert naive.jumps == []
    assert naive.tree().path(99) == [Run(parent=0, first=1, last=99)]


def test_an_empty_tree_has_no_branches_and_no_path() -> None:
    tree = Tree(jumps=(), newest=0, head=0)
    assert (tree.branches(), tree.path(0)) == ((), [])

"""The shape of a conversation's tree, without its contents.

Most entries continue the entry stored just before them. A `Jump` is one that does not: the first entry of a new
branch, or the next one of a branch that was left for a while. Between two jumps the log is one straight run, so a
conversation that never branched has an empty list here, and a branch costs one jump however long its history is.
Remarks are not part of the tree; positions are `seq` numbers and 0 is the root, before the first entry.
"""

from bisect import bisect_right

from threadkeep.conversation.conversation import Branch
from threadkeep.conversation.value import Value


class Jump(Value):
    """Entry `first` continues `parent` although `left` was stored just before it; `beside` continued `parent` earlier.

    `beside` is 0 where the parent had no follower in its own run.
    """

    first: int
    parent: int
    left: int
    beside: int


class Run(Value):
    """Entries from `first` to `last`, stored one after the other on one branch; the first one continues `parent`."""

    parent: int
    first: int
    last: int


class Tree(Value):
    """The jumps of a conversation in order, the entry stored last on any branch, and the current head."""

    jumps: tuple[Jump, ...]
    newest: int
    head: int

    def run_of(self, seq: int) -> Run:
        """Return the run that holds this entry of a branch, up to the entry itself."""
        place = bisect_right(self.jumps, seq, key=lambda jump: jump.first) - 1
        if place < 0:
            return Run(parent=0, first=1, last=seq)
        return Run(parent=self.jumps[place].parent, first=self.jumps[place].first, last=seq)

    def path(self, head: int) -> list[Run]:
        """Return the runs from the root to `head`, the newest first."""
        runs = []
        while head:
            runs.append(self.run_of(head))
            head = runs[-1].parent
        return runs

    def holds(self, head: int, seq: int) -> bool:
        """Whether the entry `seq` lies on the branch that ends in `head`."""
        return any(run.first <= seq <= run.last for run in self.path(head))

    def branches(self) -> tuple[Branch, ...]:
        """Return every branch, oldest first: one for each entry that nothing continues, and the one of the head."""
        tips = {*(jump.left for jump in self.jumps), self.newest} - {jump.parent for jump in self.jumps}
        heads = sorted({*tips, self.head} - {0})
        return tuple(Branch(head=head, fork=self._fork(head), is_current=head == self.head) for head in heads)

    def _fork(self, head: int) -> int | None:
        """Follow a branch back from its head to the entry where an older branch goes on without it."""
        for run in self.path(head):
            if run.parent and self._children(run.parent)[0] != run.first:
                return run.parent
        return None

    def _children(self, parent: int) -> list[int]:
        jumps = [jump for jump in self.jumps if jump.parent == parent]
        return sorted({jump.first for jump in jumps} | {jump.beside for jump in jumps if jump.beside})

    def older(self, fork: int) -> int:
        """Return the head of the branch that others parted from at this entry: the oldest of those that go on there."""
        head = fork
        while children := self._children(head):
            head = self._end(children[0])
        return head

    def _end(self, seq: int) -> int:
        """Return the last entry of the run that holds this one: what was stored before the next jump."""
        place = bisect_right(self.jumps, seq, key=lambda jump: jump.first)
        return self.jumps[place].left if place < len(self.jumps) else self.newest

    def siblings(self, seq: int, parent: int) -> tuple[int, ...]:
        """Return all entries that continue `parent`, oldest first, `seq` among them."""
        return tuple(sorted({seq, *self._children(parent)}))

    def branch_with(self, seq: int) -> int:
        """Return the head of a branch that holds the entry: the current one if it does, else the newest."""
        if self.holds(self.head, seq):
            return self.head
        return max((branch.head for branch in self.branches() if self.holds(branch.head, seq)), default=seq)

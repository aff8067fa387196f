"""A multisig: tokens that move, and members who change, once enough of the members have approved."""

from mcpsol_py.spec import (
    Account,
    Event,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    SystemProgram,
    TokenAccount,
    TokenProgram,
    close,
    constant,
    emit,
    error,
    has_one,
    init,
    instruction,
    program,
    require,
    seeds,
    token,
    u8,
    u16,
    u64,
)

#: What a proposal asks for.
SEND = u8(0)
ADD = u8(1)
REMOVE = u8(2)
CHANGE = u8(3)


@program(
    name="multisig",
    address="52Kmnbwya1WfUa5J9tsvHtD9gVHeCJNpsbGqvyu8RTnE",
    version="1.0.0",
)
class Multisig:
    """Safes whose tokens belong to several members together."""

    MOST_MEMBERS = constant(u16, 100, "The most members of a safe.")

    class Safe(Account):
        """What the members have together. The safe itself is the owner of its token accounts.

        Attributes:
            creator: The wallet that made it, its first member.
            safe_id: A number that distinguishes the creator's safes.
            members: How many members it has.
            threshold: How many of them must approve.
            proposals: How many proposals were made.
            changes: How often the members or the threshold changed. Proposals from before are void.
            bump: The bump of the safe's address.
        """

        creator: Pubkey
        safe_id: u64
        members: u16
        threshold: u16
        proposals: u64
        changes: u64
        bump: u8

    class Member(Account):
        """A wallet that is a member of a safe.

        Attributes:
            safe: The safe.
            wallet: The wallet.
            bump: The bump of the account's address.
        """

        safe: Pubkey
        wallet: Pubkey
        bump: u8

    class Proposal(Account):
        """What a member wants to be done.

        Attributes:
            safe: The safe.
            number: How many proposals the safe had before.
            changes: How often the safe had changed when it was made.
            action: 0 to send tokens, 1 to add a member, 2 to remove one, 3 to change the threshold.
            target: The token account that gets tokens, or the member.
            amount: The tokens in base units, or the new threshold.
            approvals: How many members approve.
            done: Whether it was carried out.
            bump: The bump of the proposal's address.
        """

        safe: Pubkey
        number: u64
        changes: u64
        action: u8
        target: Pubkey
        amount: u64
        approvals: u16
        done: bool
        bump: u8

    class Approval(Account):
        """One member's approval of a proposal.

        Attributes:
            proposal: The proposal.
            wallet: The member's wallet.
            bump: The bump of the account's address.
        """

        proposal: Pubkey
        wallet: Pubkey
        bump: u8

    class Proposed(Event):
        """A proposal was made."""

        proposal: Pubkey
        action: u8
        target: Pubkey
        amount: u64

    class Approved(Event):
        """The approvals of a proposal changed."""

        proposal: Pubkey
        approvals: u16

    class Done(Event):
        """A proposal was carried out."""

        proposal: Pubkey

    WrongAccount = error(
        "This account is not the safe's, the proposal's or the member's"
    )
    WrongAction = error("The proposal asks for something else")
    AlreadyDone = error("The proposal was carried out already")
    Void = error("The members or the threshold changed since the proposal was made")
    NotEnoughApprovals = error("Too few members approve")
    WrongThreshold = error(
        "A threshold is at least one and at most the number of members"
    )
    TooManyMembers = error("The safe has as many members as it can have")

    @instruction
    def create(
        self,
        safe: Mut[
            Safe,
            init(payer="creator"),
            seeds(b"safe", "creator", "safe_id", bump="bump"),
        ],
        member: Mut[
            Member,
            init(payer="creator"),
            seeds(b"member", "safe", "creator", bump="bump"),
        ],
        creator: Payer,
        system_program: SystemProgram,
        safe_id: u64,
    ) -> None:
        """Make a safe with one member, who adds the others.

        Args:
            safe_id: Any number. Another number gives another safe.
        """
        safe.creator = creator.address
        safe.safe_id = safe_id
        safe.members = u16(1)
        safe.threshold = u16(1)
        member.safe = safe.address
        member.wallet = creator.address

    @instruction
    def propose(
        self,
        proposal: Mut[
            Proposal,
            init(payer="wallet"),
            seeds(b"proposal", "safe", "safe.proposals", bump="bump"),
        ],
        safe: Mut[Safe, ...],
        member: Ref[
            Member,
            has_one("safe", error=WrongAccount),
            has_one("wallet", error=WrongAccount),
        ],
        wallet: Payer,
        system_program: SystemProgram,
        action: u8,
        target: Pubkey,
        amount: u64,
    ) -> u64:
        """Propose something as a member, and return the proposal's number. It has no approval yet.

        Args:
            action: 0 to send tokens, 1 to add a member, 2 to remove one, 3 to change the threshold.
            target: The token account that gets tokens, or the wallet of the member.
            amount (base units): The tokens, or the new threshold.
        """
        require(action <= CHANGE, self.WrongAction)
        proposal.safe = safe.address
        proposal.number = safe.proposals
        proposal.changes = safe.changes
        proposal.action = action
        proposal.target = target
        proposal.amount = amount
        safe.proposals += 1
        emit(
            self.Proposed(
                proposal=proposal.address, action=action, target=target, amount=amount
            )
        )
        return proposal.number

    @instruction
    def approve(
        self,
        approval: Mut[
            Approval,
            init(payer="wallet"),
            seeds(b"approval", "proposal", "wallet", bump="bump"),
        ],
        proposal: Mut[Proposal, has_one("safe", error=WrongAccount)],
        safe: Ref[Safe, ...],
        member: Ref[
            Member,
            has_one("safe", error=WrongAccount),
            has_one("wallet", error=WrongAccount),
        ],
        wallet: Payer,
        system_program: SystemProgram,
    ) -> u16:
        """Approve a proposal as a member, and return how many approve."""
        need_open(proposal, safe)
        approval.proposal = proposal.address
        approval.wallet = wallet.address
        proposal.approvals += 1
        emit(self.Approved(proposal=proposal.address, approvals=proposal.approvals))
        return proposal.approvals

    @instruction
    def revoke(
        self,
        approval: Mut[
            Approval,
            has_one("proposal", error=WrongAccount),
            has_one("wallet", error=WrongAccount),
            seeds(b"approval", "proposal", "wallet", bump="bump"),
            close("wallet"),
        ],
        proposal: Mut[Proposal, ...],
        wallet: Payer,
    ) -> None:
        """Take an approval back, and its rent. After the proposal was carried out, only the rent."""
        if not proposal.done:
            proposal.approvals -= 1
            emit(self.Approved(proposal=proposal.address, approvals=proposal.approvals))

    @instruction
    def send(
        self,
        proposal: Mut[Proposal, has_one("safe", error=WrongAccount)],
        safe: Ref[Safe, seeds(b"safe", "safe.creator", "safe.safe_id", bump="bump")],
        source: Mut[TokenAccount, token(mint="mint", authority="safe")],
        destination: Mut[TokenAccount, token(mint="mint")],
        mint: Mint,
        token_program: TokenProgram,
    ) -> None:
        """Send the safe's tokens as a proposal says. Anybody may call this.

        Args:
            source: A token account of the safe.
            destination: The token account that the proposal names.
        """
        carry_out(proposal, safe, SEND)
        require(destination.address == proposal.target, self.WrongAccount)
        token_program.transfer(
            source=source,
            destination=destination,
            authority=safe,
            amount=proposal.amount,
        )
        emit(self.Done(proposal=proposal.address))

    @instruction
    def add_member(
        self,
        proposal: Mut[Proposal, has_one("safe", error=WrongAccount)],
        safe: Mut[Safe, ...],
        member: Mut[
            Member,
            init(payer="payer"),
            seeds(b"member", "safe", "proposal.target", bump="bump"),
        ],
        payer: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Add the member that a proposal names. Anybody may call this."""
        carry_out(proposal, safe, ADD)
        require(safe.members < self.MOST_MEMBERS, self.TooManyMembers)
        member.safe = safe.address
        member.wallet = proposal.target
        safe.members += 1
        safe.changes += 1
        emit(self.Done(proposal=proposal.address))

    @instruction
    def remove_member(
        self,
        proposal: Mut[Proposal, has_one("safe", error=WrongAccount)],
        safe: Mut[Safe, ...],
        member: Mut[Member, has_one("safe", error=WrongAccount), close("receiver")],
        receiver: Payer,
    ) -> None:
        """Remove the member that a proposal names. Anybody may call this, and gets the rent."""
        carry_out(proposal, safe, REMOVE)
        require(member.wallet == proposal.target, self.WrongAccount)
        require(safe.members > safe.threshold, self.WrongThreshold)
        safe.members -= 1
        safe.changes += 1
        emit(self.Done(proposal=proposal.address))

    @instruction
    def change_threshold(
        self,
        proposal: Mut[Proposal, has_one("safe", error=WrongAccount)],
        safe: Mut[Safe, ...],
    ) -> None:
        """Change how many members must approve, as a proposal says. Anybody may call this."""
        carry_out(proposal, safe, CHANGE)
        require(0 < proposal.amount <= u64(safe.members), self.WrongThreshold)
        safe.threshold = u16(proposal.amount)
        safe.changes += 1
        emit(self.Done(proposal=proposal.address))


def need_open(proposal: Multisig.Proposal, safe: Multisig.Safe) -> None:
    """Fail if a proposal was carried out, or is void."""
    require(not proposal.done, Multisig.AlreadyDone)
    require(proposal.changes == safe.changes, Multisig.Void)


def carry_out(
    proposal: Mut[Multisig.Proposal, ...], safe: Multisig.Safe, action: u8
) -> None:
    """Mark a proposal as carried out, if it asks for this action and enough members approve."""
    require(proposal.action == action, Multisig.WrongAction)
    need_open(proposal, safe)
    require(proposal.approvals >= safe.threshold, Multisig.NotEnoughApprovals)
    proposal.done = True

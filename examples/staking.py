"""Staking with rewards: a pool gives out tokens evenly over time, to each stake by its part of all that is staked."""

from mcpsol_py.spec import (
    Account,
    Clock,
    Event,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    Signer,
    SystemProgram,
    TokenAccount,
    TokenProgram,
    close,
    emit,
    error,
    has_one,
    i64,
    init,
    instruction,
    overflow,
    program,
    require,
    seeds,
    token,
    u8,
    u64,
    u128,
)

#: Rewards are counted in this many parts of a base unit for each staked base unit.
PARTS = u128(10**12)


@program(
    name="staking",
    address="D2GsKyjKJrSJZB1QPbMuEHyxj3ZxYxNpvEVWbPN6GzqF",
    version="1.0.0",
)
class Staking:
    """Pools of staked tokens. A staker can leave at any time, with what was earned until then."""

    class Pool(Account):
        """Tokens of one mint are staked, tokens of one mint are earned.

        Attributes:
            authority: The wallet that funds the rewards.
            stake_mint: The mint of the staked tokens.
            reward_mint: The mint of the rewards.
            staked: All tokens that are staked, in base units.
            rate: Rewards of one second, in base units.
            until: The time until which there are rewards, in seconds since 1970.
            settled: The time until which rewards are counted.
            earned: What one base unit has earned since the beginning, in parts.
            spare: Rewards of the time when nothing was staked. The next funding gives them out.
            bump: The bump of the pool's address.
        """

        authority: Pubkey
        stake_mint: Pubkey
        reward_mint: Pubkey
        staked: u64
        rate: u64
        until: i64
        settled: i64
        earned: u128
        spare: u64
        bump: u8

    class Stake(Account):
        """What one wallet has staked.

        Attributes:
            owner: The wallet.
            pool: The pool.
            amount: Its tokens, in base units.
            counted: What one base unit of the pool had earned when this stake was settled, in parts.
            reward: Rewards that are the owner's and not paid out, in base units.
            bump: The bump of the stake's address.
        """

        owner: Pubkey
        pool: Pubkey
        amount: u64
        counted: u128
        reward: u64
        bump: u8

    class Funded(Event):
        """Rewards will be given out."""

        pool: Pubkey
        rate: u64
        until: i64

    class Staked(Event):
        """A stake changed."""

        stake: Pubkey
        amount: u64

    class Paid(Event):
        """Rewards were paid out."""

        stake: Pubkey
        amount: u64

    ZeroAmount = error("The amount must be more than zero")
    WrongAccount = error("This account is not the pool's or the stake's")
    StillRunning = error("Rewards are still given out")
    TooFew = error("This is less than one base unit a second")
    NotEnough = error("This is more than the stake")
    NothingEarned = error("No reward can be taken out now")
    NotEmpty = error("Tokens or rewards are left in the stake")
    Overflow = error("The time is too long")

    @instruction
    def create(
        self,
        pool: Mut[
            Pool,
            init(payer="authority"),
            seeds(b"pool", "authority", "stake_mint", "reward_mint", bump="bump"),
        ],
        stake_vault: Mut[
            TokenAccount,
            init(payer="authority"),
            seeds(b"staked", "pool"),
            token(mint="stake_mint", authority="pool"),
        ],
        reward_vault: Mut[
            TokenAccount,
            init(payer="authority"),
            seeds(b"rewards", "pool"),
            token(mint="reward_mint", authority="pool"),
        ],
        authority: Payer,
        stake_mint: Mint,
        reward_mint: Mint,
        token_program: TokenProgram,
        system_program: SystemProgram,
    ) -> None:
        """Make a pool without rewards."""
        pool.authority = authority.address
        pool.stake_mint = stake_mint.address
        pool.reward_mint = reward_mint.address

    @instruction
    def fund(
        self,
        pool: Mut[
            Pool,
            has_one("authority", error=WrongAccount),
            has_one("reward_mint", error=WrongAccount),
        ],
        reward_vault: Mut[
            TokenAccount,
            seeds(b"rewards", "pool"),
            token(mint="reward_mint", authority="pool"),
        ],
        source: Mut[TokenAccount, token(mint="reward_mint", authority="authority")],
        authority: Signer,
        reward_mint: Mint,
        token_program: TokenProgram,
        amount: u64,
        seconds: u64,
    ) -> u64:
        """Give out rewards from now on, and return the rewards of one second.

        Args:
            source: The token account that pays the rewards.
            amount (base units): The rewards. What does not divide evenly stays for the next funding.
            seconds (seconds): The time in which they are given out.
        """
        now = Clock.get().unix_timestamp
        require(seconds > 0 and amount > 0, self.ZeroAmount)
        require(now >= pool.until, self.StillRunning)
        settle(pool, now)
        with overflow(self.Overflow):
            pool.until = now + i64(seconds)
            whole = amount + pool.spare
        pool.rate = whole // seconds
        pool.spare = whole % seconds
        require(pool.rate > 0, self.TooFew)
        token_program.transfer(
            source=source, destination=reward_vault, authority=authority, amount=amount
        )
        emit(self.Funded(pool=pool.address, rate=pool.rate, until=pool.until))
        return pool.rate

    @instruction
    def open_stake(
        self,
        stake: Mut[
            Stake, init(payer="owner"), seeds(b"stake", "pool", "owner", bump="bump")
        ],
        pool: Ref[Pool, ...],
        owner: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Make an empty stake."""
        stake.owner = owner.address
        stake.pool = pool.address
        stake.counted = pool.earned

    @instruction
    def deposit(
        self,
        stake: Mut[
            Stake,
            has_one("owner", error=WrongAccount),
            has_one("pool", error=WrongAccount),
        ],
        pool: Mut[Pool, has_one("stake_mint", error=WrongAccount)],
        stake_vault: Mut[
            TokenAccount,
            seeds(b"staked", "pool"),
            token(mint="stake_mint", authority="pool"),
        ],
        source: Mut[TokenAccount, token(mint="stake_mint", authority="owner")],
        owner: Signer,
        stake_mint: Mint,
        token_program: TokenProgram,
        amount: u64,
    ) -> None:
        """Stake tokens.

        Args:
            source: The owner's token account.
            amount (base units): How many tokens.
        """
        require(amount > 0, self.ZeroAmount)
        settle(pool, Clock.get().unix_timestamp)
        count_reward(stake, pool)
        stake.amount += amount
        pool.staked += amount
        token_program.transfer(
            source=source, destination=stake_vault, authority=owner, amount=amount
        )
        emit(self.Staked(stake=stake.address, amount=stake.amount))

    @instruction
    def withdraw(
        self,
        stake: Mut[
            Stake,
            has_one("owner", error=WrongAccount),
            has_one("pool", error=WrongAccount),
        ],
        pool: Mut[
            Pool,
            has_one("stake_mint", error=WrongAccount),
            seeds(
                b"pool", "pool.authority", "stake_mint", "pool.reward_mint", bump="bump"
            ),
        ],
        stake_vault: Mut[
            TokenAccount,
            seeds(b"staked", "pool"),
            token(mint="stake_mint", authority="pool"),
        ],
        destination: Mut[TokenAccount, token(mint="stake_mint")],
        owner: Signer,
        stake_mint: Mint,
        token_program: TokenProgram,
        amount: u64,
    ) -> None:
        """Take tokens out of a stake. The reward that they earned stays in it.

        Args:
            destination: The token account that gets them.
            amount (base units): How many tokens.
        """
        require(amount > 0, self.ZeroAmount)
        settle(pool, Clock.get().unix_timestamp)
        count_reward(stake, pool)
        require(amount <= stake.amount, self.NotEnough)
        stake.amount -= amount
        pool.staked -= amount
        token_program.transfer(
            source=stake_vault, destination=destination, authority=pool, amount=amount
        )
        emit(self.Staked(stake=stake.address, amount=stake.amount))

    @instruction
    def claim(
        self,
        stake: Mut[
            Stake,
            has_one("owner", error=WrongAccount),
            has_one("pool", error=WrongAccount),
        ],
        pool: Mut[
            Pool,
            has_one("reward_mint", error=WrongAccount),
            seeds(
                b"pool", "pool.authority", "pool.stake_mint", "reward_mint", bump="bump"
            ),
        ],
        reward_vault: Mut[
            TokenAccount,
            seeds(b"rewards", "pool"),
            token(mint="reward_mint", authority="pool"),
        ],
        destination: Mut[TokenAccount, token(mint="reward_mint")],
        owner: Signer,
        reward_mint: Mint,
        token_program: TokenProgram,
    ) -> u64:
        """Take out what a stake has earned, and return how much that is.

        Args:
            destination: The token account that gets it.
        """
        settle(pool, Clock.get().unix_timestamp)
        count_reward(stake, pool)
        reward = stake.reward
        require(reward > 0, self.NothingEarned)
        stake.reward = u64(0)
        token_program.transfer(
            source=reward_vault, destination=destination, authority=pool, amount=reward
        )
        emit(self.Paid(stake=stake.address, amount=reward))
        return reward

    @instruction
    def close_stake(
        self,
        stake: Mut[
            Stake,
            has_one("owner", error=WrongAccount),
            seeds(b"stake", "stake.pool", "owner", bump="bump"),
            close("owner"),
        ],
        owner: Payer,
    ) -> None:
        """Close an empty stake, and return its rent."""
        require(stake.amount == 0 and stake.reward == 0, self.NotEmpty)


def settle(pool: Mut[Staking.Pool, ...], now: i64) -> None:
    """Count the rewards until now."""
    until = min(now, pool.until)
    if until > pool.settled:
        given = pool.rate * u64(until - pool.settled)
        if pool.staked == 0:
            pool.spare += given
        else:
            pool.earned += u128(given) * PARTS // u128(pool.staked)
    pool.settled = now


def count_reward(stake: Mut[Staking.Stake, ...], pool: Staking.Pool) -> None:
    """Add what a stake has earned since it was last settled, rounded down."""
    earned = pool.earned - stake.counted
    stake.reward += u64(u128(stake.amount) * earned // PARTS)
    stake.counted = pool.earned

"""A sealed-bid auction: bids are hashes until the bidding is over. Then the bidders show them, and the highest wins."""

from mcpsol_py.spec import (
    Account,
    Array,
    Clock,
    Event,
    Mint,
    Mut,
    Payer,
    Pubkey,
    Ref,
    SystemProgram,
    TokenAccount,
    TokenProgram,
    Unchecked,
    close,
    emit,
    error,
    has_one,
    i64,
    init,
    instruction,
    program,
    require,
    seeds,
    sha256,
    token,
    u8,
    u64,
)


@program(
    name="auction",
    address="4UwPFcM9hZBbmfH8aefNRaXpKvzZAkmTQWzMt3mKuNes",
    version="1.0.0",
)
class Auction:
    """Auctions of tokens. Every bidder puts in the same deposit, so that it says nothing about the bid."""

    class Sale(Account):
        """Tokens of one mint that are sold for tokens of another.

        Attributes:
            seller: The wallet that sells.
            sale_id: A number that distinguishes the seller's sales.
            item_mint: The mint of the tokens that are sold.
            price_mint: The mint of the tokens that are paid.
            lot: The tokens that are sold, in base units.
            reserve: The lowest bid, in base units.
            deposit: What each bidder puts in, in base units: the highest bid.
            bids_until: The time until which bids are taken, in seconds since 1970.
            shown_until: The time until which bids are shown, in seconds since 1970.
            hidden: How many bids are not shown yet.
            highest: The highest bid that was shown.
            winner: Who made the highest bid, or the seller before a bid is shown.
            settled: Whether the winner and the seller got their tokens.
            bump: The bump of the sale's address.
        """

        seller: Pubkey
        sale_id: u64
        item_mint: Pubkey
        price_mint: Pubkey
        lot: u64
        reserve: u64
        deposit: u64
        bids_until: i64
        shown_until: i64
        hidden: u64
        highest: u64
        winner: Pubkey
        settled: bool
        bump: u8

    class Bid(Account):
        """One wallet's bid.

        Attributes:
            sale: The sale.
            bidder: The wallet.
            sealed: SHA-256 of the sale, the bidder, the amount and a secret of 32 bytes.
            shown: Whether the bidder has shown the amount.
            bump: The bump of the bid's address.
        """

        sale: Pubkey
        bidder: Pubkey
        sealed: Array[u8, 32]
        shown: bool
        bump: u8

    class Opened(Event):
        """A sale takes bids."""

        sale: Pubkey
        lot: u64
        bids_until: i64

    class Bidden(Event):
        """A wallet made a bid that nobody can read yet."""

        sale: Pubkey
        bidder: Pubkey

    class Shown(Event):
        """A bidder showed a bid."""

        sale: Pubkey
        bidder: Pubkey
        amount: u64
        is_highest: bool

    class Settled(Event):
        """The winner has the tokens, and the seller the price."""

        sale: Pubkey
        winner: Pubkey
        price: u64

    WrongAccount = error("This account is not the sale's or the bid's")
    WrongTerms = error(
        "The lot is zero, the reserve exceeds the deposit, or the times are over"
    )
    BiddingOver = error("The sale takes no bids any more")
    NotTheTime = error("Bids are shown after the bidding, until the sale ends")
    AlreadyShown = error("This bid was shown already")
    OtherBid = error("The amount and the secret are not those of the bid")
    OutOfRange = error("The bid is below the reserve or above the deposit")
    StillRunning = error("The sale has not ended yet")
    AlreadySettled = error("The sale was settled already")

    @instruction
    def open(
        self,
        sale: Mut[
            Sale, init(payer="seller"), seeds(b"sale", "seller", "sale_id", bump="bump")
        ],
        item_vault: Mut[
            TokenAccount,
            init(payer="seller"),
            seeds(b"items", "sale"),
            token(mint="item_mint", authority="sale"),
        ],
        price_vault: Mut[
            TokenAccount,
            init(payer="seller"),
            seeds(b"prices", "sale"),
            token(mint="price_mint", authority="sale"),
        ],
        source: Mut[TokenAccount, token(mint="item_mint", authority="seller")],
        seller: Payer,
        item_mint: Mint,
        price_mint: Mint,
        token_program: TokenProgram,
        system_program: SystemProgram,
        sale_id: u64,
        lot: u64,
        reserve: u64,
        deposit: u64,
        bids_until: i64,
        shown_until: i64,
    ) -> None:
        """Sell tokens.

        Args:
            source: The token account that holds them.
            sale_id: Any number. Another number gives another sale of the seller.
            lot (base units): How many tokens are sold.
            reserve (base units): The lowest bid.
            deposit (base units): The highest bid, which every bidder puts in.
            bids_until (seconds since 1970): The end of the bidding.
            shown_until (seconds since 1970): The end of the sale. Who has not shown a bid by then loses the deposit.
        """
        is_sale = lot > 0 and deposit > 0 and reserve <= deposit
        is_ahead = Clock.get().unix_timestamp < bids_until and bids_until < shown_until
        require(is_sale and is_ahead, self.WrongTerms)
        sale.seller = seller.address
        sale.sale_id = sale_id
        sale.item_mint = item_mint.address
        sale.price_mint = price_mint.address
        sale.lot = lot
        sale.reserve = reserve
        sale.deposit = deposit
        sale.bids_until = bids_until
        sale.shown_until = shown_until
        sale.winner = seller.address
        token_program.transfer(
            source=source, destination=item_vault, authority=seller, amount=lot
        )
        emit(self.Opened(sale=sale.address, lot=lot, bids_until=bids_until))

    @instruction
    def bid(
        self,
        bid: Mut[
            Bid, init(payer="bidder"), seeds(b"bid", "sale", "bidder", bump="bump")
        ],
        sale: Mut[Sale, has_one("price_mint", error=WrongAccount)],
        price_vault: Mut[
            TokenAccount,
            seeds(b"prices", "sale"),
            token(mint="price_mint", authority="sale"),
        ],
        source: Mut[TokenAccount, token(mint="price_mint", authority="bidder")],
        bidder: Payer,
        price_mint: Mint,
        token_program: TokenProgram,
        system_program: SystemProgram,
        sealed: Array[u8, 32],
    ) -> None:
        """Make a bid that nobody can read.

        Args:
            source: The token account that pays the deposit.
            sealed: SHA-256 of the sale's address, the bidder's address, the amount (8 bytes, little-endian) and a
                secret of 32 bytes. Keep the secret: without it the deposit is lost.
        """
        require(Clock.get().unix_timestamp < sale.bids_until, self.BiddingOver)
        bid.sale = sale.address
        bid.bidder = bidder.address
        bid.sealed = sealed
        sale.hidden += 1
        token_program.transfer(
            source=source,
            destination=price_vault,
            authority=bidder,
            amount=sale.deposit,
        )
        emit(self.Bidden(sale=sale.address, bidder=bidder.address))

    @instruction
    def show(
        self,
        bid: Mut[
            Bid,
            has_one("bidder", error=WrongAccount),
            has_one("sale", error=WrongAccount),
        ],
        sale: Mut[Sale, ...],
        bidder: Payer,
        amount: u64,
        secret: Array[u8, 32],
    ) -> bool:
        """Show a bid after the bidding, and return whether it is the highest so far. Of equal ones the first counts.

        Args:
            amount (base units): The bid.
            secret: The secret that the bid was sealed with.
        """
        now = Clock.get().unix_timestamp
        require(sale.bids_until <= now < sale.shown_until, self.NotTheTime)
        require(not bid.shown, self.AlreadyShown)
        require(
            sha256(sale.address, bidder.address, amount, secret) == bid.sealed,
            self.OtherBid,
        )
        require(sale.reserve <= amount <= sale.deposit, self.OutOfRange)
        bid.shown = True
        sale.hidden -= 1
        is_highest = amount > sale.highest
        if is_highest:
            sale.highest = amount
            sale.winner = bidder.address
        emit(
            self.Shown(
                sale=sale.address,
                bidder=bidder.address,
                amount=amount,
                is_highest=is_highest,
            )
        )
        return is_highest

    @instruction
    def settle(
        self,
        sale: Mut[
            Sale,
            has_one("seller", error=WrongAccount),
            has_one("winner", error=WrongAccount),
            has_one("item_mint", error=WrongAccount),
            has_one("price_mint", error=WrongAccount),
            seeds(b"sale", "seller", "sale.sale_id", bump="bump"),
        ],
        item_vault: Mut[
            TokenAccount,
            seeds(b"items", "sale"),
            token(mint="item_mint", authority="sale"),
        ],
        price_vault: Mut[
            TokenAccount,
            seeds(b"prices", "sale"),
            token(mint="price_mint", authority="sale"),
        ],
        to_winner: Mut[TokenAccount, token(mint="item_mint", authority="winner")],
        to_seller: Mut[TokenAccount, token(mint="price_mint", authority="seller")],
        seller: Payer,
        winner: Unchecked,
        item_mint: Mint,
        price_mint: Mint,
        token_program: TokenProgram,
    ) -> u64:
        """After the sale, give the lot to the winner and the price to the seller. Returns what the seller gets.

        The seller also gets the deposits of bids that nobody showed. Without a winner the lot goes back to the seller.

        Args:
            to_winner: The winner's account of the item's mint.
            to_seller: The seller's account of the price's mint.
        """
        require(Clock.get().unix_timestamp >= sale.shown_until, self.StillRunning)
        require(not sale.settled, self.AlreadySettled)
        sale.settled = True
        price = sale.highest + sale.hidden * sale.deposit
        token_program.transfer(
            source=item_vault, destination=to_winner, authority=sale, amount=sale.lot
        )
        token_program.transfer(
            source=price_vault, destination=to_seller, authority=sale, amount=price
        )
        emit(self.Settled(sale=sale.address, winner=winner.address, price=price))
        return price

    @instruction
    def leave(
        self,
        bid: Mut[
            Bid,
            has_one("bidder", error=WrongAccount),
            has_one("sale", error=WrongAccount),
            close("bidder"),
        ],
        sale: Ref[
            Sale,
            has_one("price_mint", error=WrongAccount),
            seeds(b"sale", "sale.seller", "sale.sale_id", bump="bump"),
        ],
        price_vault: Mut[
            TokenAccount,
            seeds(b"prices", "sale"),
            token(mint="price_mint", authority="sale"),
        ],
        destination: Mut[TokenAccount, token(mint="price_mint", authority="bidder")],
        bidder: Payer,
        price_mint: Mint,
        token_program: TokenProgram,
    ) -> u64:
        """After the sale, take the deposit back, and return how much that is. The winner gets what the bid leaves.

        Args:
            destination: The bidder's token account.
        """
        require(Clock.get().unix_timestamp >= sale.shown_until, self.StillRunning)
        if not bid.shown:
            return u64(0)
        paid = sale.highest if bidder.address == sale.winner else u64(0)
        left = sale.deposit - paid
        token_program.transfer(
            source=price_vault, destination=destination, authority=sale, amount=left
        )
        return left

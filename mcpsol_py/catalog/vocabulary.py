"""The words of the field: which words of questions mean which words of programs.

Three tables, all general. `_PHRASES`: how people say something in several words, and the words of programs for it.
`_SYNONYMS`: words that mean nearly the same. `_GLOSSARY`: what an instruction whose name has certain words does, in
the words of people; the index adds it to the instruction's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from mcpsol_py.catalog.words import FILLERS, stem, tokens

__all__ = ["glossary_stems", "phrase_words", "synonyms"]

#: what people write (words, * for any one word) = words of programs
_PHRASES = """
right now, right away, without waiting, instantly, immediately, no waiting, at once, on the spot = liquid instant
cash out, cash in, take out, get out, pull out, get back, move out, money back, take back, take everything out = withdraw remove redeem
put in, put into, put my, pay in, top up, pay into, add funds, fund it, hand in my, move into = deposit add increase
set up, start a, start an, spin up, kick off, start new, start up, make new, bring up = initialize create open
start a fresh, begin a, fresh range = open create
give back, hand back, return the, gib back, give me back = return refund reclaim close redeem
give up, let go, walk away = relinquish cancel revoke renounce
change mind, changed my mind, forget the request, call off, back out, never mind, take back my request = cancel
get rid of, throw away, dispose of, clean up, tidy up, shut down, wind down = close delete remove burn
pay back, pay down, pay off, settle my debt, clear my debt, pay my debt, give back the loan, return the loan, what i owe = repay debt
take a loan, get a loan, take out a loan, draw debt, lever up, take on debt = borrow loan
lend out, put to work, earn interest, earn yield, make interest, earns interest, earn on idle = deposit lend supply liquidity
put up, post collateral, as security, leave it as security, against my, backed by, pledge = collateral deposit offer
go long, long position, open a long, bet on up, leveraged long, go short, short position, open a short = increase position perp open market order
close my long, close my short, reduce my position, take some off = decrease position close
stop loss, stop-loss, take profit, tp sl, sl tp = stop loss trigger tpsl conditional order
trade through, best path, best price, best route, best rate, smart route = route swap aggregator
swap * for, exchange * for, trade * for, convert * to, convert * into, turn * into, change * into, turn back into = swap
one token for another, one coin for another = swap
at least, minimum output, min out, exact input, exact in, spend exactly = exact in base input
exact output, receive exactly, exactly out, exact amount out, get exactly = exact out output
price range, price bounds, two prices, between two, range of prices, new range, price band = position range tick concentrated liquidity
new price range, move my range, shift my, shift the range, different range = rebalance reposition reset range
without starting from zero = reposition rebalance
provide liquidity, supply liquidity, become an lp, lp into, add to pool, add to the pool, zap in, zap into = add deposit increase liquidity
one side, single sided, one sided, no second coin, with only one token, only one token = one side single
take out liquidity, pull liquidity, remove my lp, exit the pool, exit my lp, leave the pool, out of the pool, exit pool = remove withdraw decrease liquidity
trading fees, swap fees, lp fees, earned fees, my fees = fee collect claim
mining rewards, farm rewards, liquidity mining = reward farm claim mine stake
compound, reinvest = compound invest
say yes, vote yes, say no, vote no, vote for, vote against, cast my vote = cast vote approve
let * vote, vote on my behalf, vote for me, lend my votes = delegate vote
sign off, sign off on, agree to, as a member, give my ok, give my approval = approve
turn down, say no to = reject
kick out, kick, throw out, expel = remove member
put up for a vote, put to a vote = proposal create propose
new dao, start a dao, dao = realm dao governor governance
run the proposal, carry out = execute
number of signatures, how many signatures, quorum of signers, signatures required, how many people must sign = threshold
voting power, more votes, more weight = lock vote escrow
longer, for longer, extend the time, more time, keep it longer = extend duration
never let, always max, stay locked = toggle max lock
cannot rug, can not rug, no rug, rug proof, rug, unruggable = lock position liquidity permanent escrow
forever, for good, permanently, for ever = permanent lock immutable
unchangeable, cannot be changed, can not be changed, can never be changed, frozen for good = immutable
not frozen, unfreeze, un freeze, thaw out = thaw
cannot move, block the account, stop the account = freeze
print more, mint more, more of my coin, more supply, create more of, issue more = mint authority supply
nobody can mint, no more mint, fixed supply, print more of = set mint authority revoke
hand over, hand the, hand it to, pass on, give ownership, change the owner, new owner, somebody else own = transfer set authority owner
let somebody spend, spend on my behalf, allow * to spend, give allowance = approve delegate
stop * spending, take away the allowance, remove allowance = revoke
new coin, new token, my own token, my own coin, launch a coin, launch a token, meme coin, memecoin = create mint launch token
bonding curve, ape into, ape in, ape = buy bonding curve
buy in, snipe = buy
graduate, graduated, move to an amm, leave the curve = migrate migration
dump, cash out coins, turn my coins back, sell off = sell
token account, set up its account, can receive, receive this token, not there yet, if it does not exist, if missing = create associated token account idempotent
ata = associated token account
owned by another, stuck in = recover nested
rent back, get my rent, reclaim the rent, get rent, return the rent, rent from empty = close account reclaim rent
empty account, empty token account = close account
wrap sol, wrapped sol, wsol = wrap sync native
unwrap sol = unwrap close
sync balance, wrapped balance = sync native
short note, leave a note, attach a note, attach a message, on chain note, text message = memo
human readable, domain name, readable name, .sol name = name service domain
bigger budget, compute units, exceeded cus, cus meter, cu limit, out of compute, more compute = compute unit limit budget
priority fee, land faster, tip the validator, jump the queue, faster inclusion = compute unit price
heap, more heap = heap frame
durable nonce, offline signing = nonce advance
lookup table = lookup table
cross chain, another chain, other chain, other network, from ethereum, to ethereum, off solana, leave solana, bridge out, bridge in = bridge receive transfer message
attested message, from another chain, arriving message, incoming message = receive message
burn to bridge = burn deposit
how much may leave, cap how much, outflow cap, limit what leaves = outbound limit rate
how much may come in, inflow cap = inbound limit rate
rate limit, rate-limit = limit rate outbound inbound
fresh price, new price, latest price, newest price, write a price, push a price, price on chain = update price feed post
price history, price samples, observations, history samples = oracle length observation
random number, randomness, dice, coin flip, lottery = randomness vrf
net asset value, nav = nav
total value locked, tvl = tvl
apr, apy, annual yield = apy rate
air drop, airdrop, eligible for = claim airdrop distributor
over time, little by little, vest = vesting locked claim
take back unclaimed, unclaimed tokens = clawback
recurring buy, recurring buys, buy every day, buy every week, dollar cost, every day, every week, on a schedule, regularly buy = dca open recurring
limit price, only at my price, at my price, when the price hits, when price reaches, unfilled order, resting order, my bid, my ask = limit order
wipe all orders, all my orders, every order = cancel all
market maker, rfq = fill order quote
add a validator, one more validator, let * validator, new validator = add validator
stake account = stake account
liquid staking token, lst, stake pool token = liquid stake pool deposit
native stake, already staked = stake account
unstake right now = liquid unstake
wait for the epoch, end of the epoch, next epoch, delayed = order unstake ticket
split in two, split up, break up, break my, break apart = split strip
put back together, recombine, join together, merge back = merge
fixed rate, floating part, principal and yield, fixed yield, pt and yt, pt yt = strip principal yield
pass and fail, yes and no tokens, bet on an outcome, outcome tokens = conditional split
who won, decide the outcome, settle the outcome, publish the outcome = resolve question
give notice, ask for my money, ask to withdraw, request a withdrawal, announce a withdrawal, my share paid out, queue a withdrawal = request withdraw
pawn, against my nft, loan for my nft, nft as collateral, nft loan = nft collateral offer loan
roll over, roll it, renew the loan, extend the loan, more time to pay = refinance extend rollover loan
underwater, unhealthy, bad position, below maintenance, insolvent, too much debt = liquidate
nobody will pay, cannot be paid back, bad debt, loss shared = bad debt socialize loss bankruptcy
flash loan, borrow and return, same transaction loan = flash borrow loan
add collateral, more margin, post margin, as margin, margin deposit = deposit collateral
take collateral, collateral out, collateral back, free my collateral = withdraw collateral
emergency stop, circuit breaker, halt, stop everything, panic button, kill switch = pause suspend emergency kill freeze
resume, start again, turn back on, bring back = unpause resume enable
step down, new boss, new admin, hand over control, change of control, new administrator, put someone in charge = transfer set admin authority propose accept
accept the role, take over, become the admin, claim the role = accept admin authority ownership
trading fee, fee rate, different fee, fee of a pool, pool fee, charge more = fee rate update set
game = play game setup
noughts and crosses, put my mark, make a move = play
invite link, by a link, gift link, money by link = invite escrow initialize
donate, charity, a cause = donate
merchant, micro payment, micro payments, pay per use, stream of payments, payment channel = payment channel open
settle later, voucher = settle voucher
treasury, company wallet, shared wallet, safe, team wallet, joint wallet = multisig vault treasury
allowance, pocket money, petty cash = spending limit allowance
stamp of approval, certificate, credential, kyc, verified identity, attest = attestation credential
royalty, royalties, creator share = creator fee royalty
art, picture, collectible, jpeg, collectibles = nft metadata
collection = collection
whitelist, allow list, allowlist, guest list = whitelist permission allow
blacklist, deny list, ban = blacklist freeze block deny
one call, single call, one go, one transaction, one step, single step, all in one = operate and with
get my tokens, my share, my part, my cut = claim redeem withdraw
how much would, what would i get, quote, preview, estimate, what is, how much is, tell me the = get view quote calculate
who owns, look at, look up, check the = get view
tree is full, new tree, roll over to a new = rollover tree
proof, merkle = merkle proof
change the picture, change the name, edit metadata, rename = update metadata
prove = verify proof
bin, bins, out of all bins = bin liquidity
all of it, everything, whole position, entire position, all liquidity, close completely = all close
idle = deposit
points, referral, referrer, invite bonus = referral referrer
"""

_SYNONYMS = """
create initialize open new start launch setup register make establish found begin deploy
close delete remove destroy end terminate finish
set change update modify edit configure adjust alter tweak replace switch
deposit add increase supply provide fund contribute put invest
withdraw remove decrease redeem reclaim pull unstake exit cash
claim collect harvest gather withdraw sweep
transfer send move give pass hand pay
swap exchange trade convert route flip sell buy
buy purchase acquire ape
sell dump
get show view read see fetch query check
vote cast ballot
approve accept confirm allow permit ratify sign
reject refuse deny decline
fill take match accept execute settle
extend grow enlarge lengthen prolong increase
cancel abort revoke relinquish withdraw stop undo
revoke undo
stake deposit lock delegate bond
unstake undelegate deactivate withdraw unbond
lock freeze vest escrow
unlock thaw release unfreeze
owner authority admin administrator manager boss
member signer owner participant
user account trader wallet customer
pool market pair amm pond
position lp range
token coin currency asset mint
fee commission charge cost
reward incentive emission bonus prize
borrow loan debt leverage credit
repay return settle debt
lend supply loan deposit
collateral margin security guarantee
execute run perform process carry
pause halt suspend stop disable freeze
unpause resume enable activate restart
split divide break strip
merge combine join recombine
refund return reimburse
price quote rate oracle
oracle feed price
multisig safe squad treasury
nft collectible metadata edition
perp perpetual future
long increase
short decrease
liquidity lp
airdrop distributor distribution
proposal motion referendum
delegate representative proxy
threshold quorum
validator node
epoch
burn destroy incinerate
mint print issue create
domain name
note memo message text comment
bridge wormhole crosschain
message attestation vaa
attester signer
limit cap maximum threshold ceiling
minimum floor
outbound outflow leave outgoing
inbound inflow incoming
tree merkle
rollover roll renew refinance
vault fund strategy
strategy plan
depositor investor
manager operator
share ticket
request ask order
gift invite donation
donate give
escrow custody vault
verify prove check validate
random randomness vrf
range bound tick
rebalance reposition shift reset
recover rescue retrieve
nested stuck
immutable unchangeable permanent final
edition print copy
collection series
candidate option
poll election vote
store shop merchant
product item goods
delivered shipped
post article blog
bin
yield interest
principal capital
settle resolve finalize conclude
expire expired stale old
insurance protection
liquidate
recenter rebalance
ladder multi
tax fee
soulbound nontransferable
seize clawback
artist creator
picture image uri logo
edit update change
earnings fee reward revenue income
earn reward interest yield fee
unlock release withdraw
join enter deposit create
leave exit withdraw
pending request
queue request
certificate attestation credential
guardian signature
wallet owner account
bot keeper
ltv elevation emode
health refresh pulse
hide confidential private
secret confidential private
badge nft
allocation weight
profit pnl gain
loss bad debt
lender supplier creditor
borrower debtor
trader user
creator deployer launcher
volume accumulator
leftover surplus remaining
peer contract trusted
rent lamport
sync refresh update crank
crank refresh consume
leverage lever
aggregator router
mark symbol
square tile cell
metadata
budget limit
size length space
length size samples
"""

#: words of a name (all of them) = what it does, in people's words
_GLOSSARY = """
thaw account = unfreeze make usable again unlock frozen
freeze account = block stop account from moving
set authority = change owner give up mint authority nobody print more fixed supply hand over control
close account = get back rent lamports empty unused delete reclaim
close empty token account = reclaim rent empty
close position = empty lp position delete return rent
initialize mint = create new token coin currency decimals
mint to = print issue more tokens supply
burn = destroy tokens supply
sync native = wrapped sol balance wsol refresh
approve = let somebody spend delegate allowance
revoke = stop delegate spending allowance take away
transfer sol = send sol lamports pay friend wallet
transfer checked = send tokens to a friend wallet
transfer = send tokens friend wallet
create idempotent = make sure token account exists receive token wallet
recover nested = stuck tokens ata owned by another ata
add memo = attach short note text message to a transaction
set compute unit limit = more compute budget cu exceeded
request unit = more compute budget cu exceeded
set compute unit price = priority fee land faster tip
extend lookup table = add addresses
advance nonce account = durable nonce offline
deposit sol = stake sol liquid staking
liquid unstake = instant unstake now without waiting epoch cash out
order unstake = delayed unstake ticket epoch
deposit stake account = native stake account into liquid staking token
deposit stake = native stake account into liquid staking token
delegate stake = stake sol with a validator
deactivate = unstake cool down
deactivate stake = unstake cool down
add validator to pool = let one more validator receive stake
add validator = let one more validator receive stake
open position = provide liquidity range two price bounds concentrated lp new
increase liquidity = top up add to existing position lp
decrease liquidity = take out part of position lp
add liquidity = provide supply lp deposit pool zap
remove liquidity = take out exit lp withdraw pool bins
remove all liquidity = take everything out exit lp bins
add liquidity one side = zap single sided only one token no second coin
deposit single token = zap single sided only one token no second coin
single token deposit = zap single sided only one token
rebalance = shift move new price range
reposition liquidity = shift move new price range
reset position range = shift move new price range
lock position = cannot rug lock liquidity forever prove
lock = cannot rug lock liquidity
permanent lock position = cannot rug lock liquidity forever
create lock escrow = cannot rug lock lp
collect fee = earned trading fees of lp position
claim fee = earned trading fees
claim position fee = earned trading fees of lp position
claim trading fee = earned fees partner creator
collect creator fee = royalties creator earnings coin
claim creator fee = creator earnings coin
harvest reward = farm rewards staking earnings
claim reward = farm rewards staking earnings mining
stake token = farm lp mining rewards lock
swap base input = exact amount in minimum output trade
swap base output = exact amount out maximum input trade
swap = trade exchange one token for another minimum output
route = trade swap best path aggregator one token for another minimum output
exact out route = receive exact amount best path
buy = purchase coin bonding curve ape in
sell = turn coins back into sol cash out dump
create pool = new trading pair market amm start pool
initialize pool = new trading pair market amm start pool create
initialize virtual pool = launch new coin bonding curve token
create v2 = launch new coin
migrate = graduate bonding curve to amm pool
borrow = take loan debt
borrow obligation liquidity = take loan borrow against collateral
deposit reserve liquidity = lend supply earn interest idle
lending account deposit = lend supply earn interest idle
repay = pay back loan debt what i owe
repay obligation liquidity = pay back loan debt
repay loan = pay back loan debt get collateral back
withdraw obligation collateral = take collateral out of loan
withdraw collateral = take collateral out of loan
deposit collateral = post margin security
deposit obligation collateral = post margin security
liquidate = unhealthy underwater insolvent position
flash borrow = flash loan same transaction
flash repay = flash loan return
start flashloan = flash loan same transaction
handle bankruptcy = bad debt loss
socialize loss = bad debt loss shared
operate = deposit withdraw collateral borrow repay debt in one call
request withdraw = give notice take money out later share paid out
request withdrawal = give notice take money out later share paid out
cancel request withdraw = changed mind forget withdrawal request
cancel withdraw ticket = changed mind forget withdrawal request
cancel redemption request = changed mind forget withdrawal request
tokenize share = turn vault share into a token
create increase position market request = go long short leverage open perp market
instant increase position = go long short leverage open perp
increase position = go long short leverage open perp
create decrease position market request = close reduce perp position market
decrease position = close reduce perp position
place perp order = go long short leverage
place market order = go long short leverage perp buy sell now
place limit order = resting order price
cancel order = withdraw unfilled limit order resting
cancel all = withdraw every unfilled order
initialize order = place limit order at my price
create order = place limit order at my price
place and take = market order fill now
instant create tpsl = stop loss take profit
place stop loss = stop loss take profit trigger
open dca = recurring buy every day dollar cost average
close dca = stop recurring buys get leftover back
new claim = airdrop eligible merkle proof collect
claim locked = airdrop vested unlocked over time
airdrop claim = collect airdrop eligible
new distributor = start airdrop token distribution
clawback = take back unclaimed tokens airdrop
create realm = start new dao
initialize dao = start new dao
create governor = start new dao
create proposal = put to vote motion dao
cast vote = say yes no dao proposal
new vote = ballot dao proposal
set vote = say yes no dao proposal
set governance delegate = let somebody else vote for me
set vote delegate = let somebody else vote for me
relinquish vote = take vote back
deposit governing token = join dao voting power
refund proposal deposit = get back deposit of governance proposal
increase locked amount = lock more governance tokens voting power
extend lock duration = lock longer more votes
toggle max lock = never decay diamond hands stay locked always
new escrow = start locking tokens votes
open partial unstaking = start unlock some withdraw later
merge partial unstaking = change mind cancel unlock
proposal approve = member sign off waiting transaction multisig vote
proposal reject = member vote against multisig
vault transaction create = propose payment from multisig safe treasury
vault transaction execute = carry out approved multisig transaction
multisig create = new shared wallet safe treasury team
multisig add member = new signer owner in the safe
multisig remove member = kick signer out of the safe
multisig change threshold = how many signatures required
config transaction create = change members threshold of safe proposal
spending limit use = pay from allowance without votes
post update = write fresh oracle price on chain
update price feed = write fresh oracle price on chain
refresh price list = write fresh oracle prices on chain
pull feed submit response = write fresh oracle value on chain
reclaim rent = rent back of posted account
randomness commit = random number dice start
randomness reveal = random number dice result
receive message = hand in attested message from another chain bridge
send message = bridge message to another chain
transfer burn = bridge out to another chain
transfer lock = bridge out to another chain
redeem = bridge in from another chain arriving
set outbound limit = cap how much may leave rate window
set inbound limit = cap how much may arrive rate window
enable attester = accept signatures of new attester add
disable attester = stop accepting signatures of attester remove
increase oracle length = keep more price history samples observations
set immutable = unchangeable forever lock metadata
set fee rate = different trading fee pool
update pool fee = different trading fee pool
set pool fee = different trading fee pool
change swap fee = different trading fee pool
get nav = net asset value one unit worth price
strip = split principal and yield tokens fixed rate floating
merge = principal and yield back together
split token = pass fail outcome conditional bet
merge token = conditional outcome back into underlying
redeem token = after outcome decided winning
resolve question = decide outcome of market
create nft collateral offer = pawn nft loan security
fill non fungible principal offer = pawn nft loan security borrow
open = start channel stream
settle = pay out close
rollover = tree full new tree
claim = collect receive invite airdrop
mint nft = get nft from candy machine drop
mint = get issue new
update metadata = change name picture uri
sign metadata = creator verifies artwork
verify collection = nft belongs to collection
create metadata account = name picture symbol of token
play = move put mark square game noughts crosses
setup game = start game players
donate = give to cause charity
make purchase = buy product shop
create credential = issuer kyc identity
create attestation = certify verify identity claim
transfer ownership = new owner admin hand over
accept ownership = take over admin role
set admin = new administrator
transfer admin = new administrator hand over
accept admin = take over admin role
request governance authority transfer = start hand over authority to somebody else
pause = emergency stop halt
unpause = resume after emergency
collect protocol fee = treasury revenue of the protocol
withdraw excess lamport = surplus lamports
extend program = more space for program
settle pnl = realize profit loss cash pnl
settle funding = pay funding payment perp
initialize user = sign up open trading account first time register trader
register trader = sign up open trading account first time
delete user = close trading account
update user delegate = let somebody else trade for me
delegate trader = let somebody else trade for me
place spot order = buy sell spot limit
place order = buy sell limit
modify order = change price size of resting order
reduce order = shrink resting order
cancel up to = cancel several orders
liquidate perp = force close underwater trader
liquidate spot = force close underwater borrower
transfer deposit = move collateral between my subaccounts
transfer collateral = move margin between my accounts
add insurance fund stake = stake insurance earn fees
remove insurance fund stake = unstake insurance
deposit fund = add margin collateral to trade
withdraw fund = take margin out
increase position length = more bins wider position
claim swap fee = earned trading fees lp
collect reward = farm incentive of lp position
two hop swap = trade through two pools via an intermediate token
swap exact out = receive exact amount of tokens
swap exact in = spend exact amount of tokens
withdraw liquidity = exit pool take out lp
provide liquidity = lp into pool
deposit all token type = lp into pool both sides
withdraw all token type = exit pool both sides
withdraw single token type = exit pool in only one token
bootstrap liquidity = first liquidity of new pool
create market = list new market pair
create position = open new lp position
initialize position = open new lp position
initialize tick array = prepare price range ticks account
initialize bin array = prepare bins account
split position = divide lp position between wallets
open bundled position = several positions in one nft
initialize reward = add farm incentive to pool
fund reward = top up incentive of pool farm
set reward emission = how much reward per second
request elevation group = higher ltv emode efficiency mode
flash borrow reserve liquidity = flash loan
flash repay reserve liquidity = flash loan return
refresh obligation = update loan health values
refresh reserve = update interest of lending market
init obligation = open loan account
withdraw obligation collateral and redeem = take lent money back out
redeem reserve collateral = take lent money back out of lending ctoken
deposit and withdraw = swap collateral of loan
lending account withdraw = take lent money back out
lending account borrow = take loan debt
lending account repay = pay back loan debt
lending account liquidate = unhealthy underwater
initialize account = open account
create loan = start borrow
close loan = finish repaid loan
create strategy = lender offers terms
refinance ledger = change lender better rate loan
sell ledger = lender exits loan
extend loan = more time to repay
request redemption = ask to redeem later
create redemption request = ask to redeem later queue exit
fulfill redemption request = pay out exit
take offer = buy at offered price invest
make offer = create terms sale
buy yt = long yield leverage yield
sell yt = exit yield position
trade pt = buy sell principal token fixed rate
buy pt = lock in fixed rate
sell pt = exit fixed rate early
collect interest = earned yield payout
claim emission = earned incentive
claim farm emission = earned incentive
resolve = outcome decided
finalize proposal = end vote decide outcome
execute transaction = carry out passed proposal
cancel proposal = withdraw motion
withdraw governing token = leave dao get tokens back
create governance = new treasury rules account control
create native treasury = dao sol wallet
insert transaction = add action to proposal
sign off proposal = ready for vote
activate proposal = start vote
queue proposal = wait before execution timelock
multisig set time lock = delay before execution
multisig add spending limit = allowance without votes pocket money
batch create = several transactions together
transaction buffer create = large transaction in pieces
proposal cancel = withdraw approved proposal
stake = lock earn rewards
unstake = stop staking cool down
withdraw unstaked deposit = collect after cooldown
withdraw stake = get sol or stake back after cool down
split = divide stake in two
authorize = change staker withdrawer authority of stake
move stake = shift between stake accounts
redelegate = change validator
set preferred validator = which validator gets stake
update stake pool balance = epoch update pool
withdraw sol = cash out pool tokens for sol instantly
change authority = new admin owner
create metadata account v3 = name picture symbol of token
create master edition = limited prints of nft
mint new edition from master edition via token = print copy numbered
print = numbered copy of nft
verify creator = sign as artist
set collection = put into collection
approve collection authority = let another verify collection
utilize = consume use of nft
lock = freeze nft while staked listed
delegate = let another move or lock
add config line = load items names uris into machine
update candy machine = change settings price
create agreement = terms
create attestation = issue certificate
close attestation = revoke certificate
change authorized signer = who may issue
initialize mint close authority = mint can be deleted
initialize transfer fee config = tax on each transfer
set transfer fee = change tax on each transfer
withdraw withheld token = collect tax of transfers
harvest withheld token = collect tax of transfers
initialize permanent delegate = clawback seize burn from any holder
initialize transfer hook = run program on each transfer
initialize non transferable mint = soulbound badge
initialize interest bearing mint = balance grows rate
initialize default account state = new accounts start frozen
enable memo transfer = require note on incoming transfer
enable cpi guard = protect from programs
confidential transfer = private hidden amount
configure confidential transfer account = private hidden balance setup
initialize multisig = several signers for token account m of n
deactivate lookup table = retire table before closing
freeze lookup table = table never changes
close lookup table = get rent back of table
create lookup table = shorter transactions list of addresses
withdraw nonce account = get lamports out of nonce
authorize nonce account = change nonce authority
initialize nonce account = offline signing setup
allocate = reserve space bytes
assign = change owner program
create account = new account space rent
set data = replace content of metadata
trim = shrink get rent back
write = store bytes data
append = add bytes
redeem = bridge in from another chain receive exchange
release inbound mint = receive tokens after delay bridge
release inbound unlock = receive tokens after delay bridge
set peer = trust contract on other chain
set pause = emergency stop halt
post message = publish message to other chain
verify hash = check guardian signatures
post signature = upload guardian signatures
reclaim event account = rent back of message
replace message = change destination of message
aggregator add job = new data source for feed
aggregator open round = request new value oracle
aggregator save result = oracle reports value
vrf request randomness = random number
pull feed init = create oracle feed
oracle heartbeat = keep oracle alive
set price = update oracle
add validator to pool = validator joins
create fee tier = new fee level
set fee = change fee
set default fee rate = base fee of new pools
set protocol fee rate = share of protocol
collect coin creator fee = creator earnings royalties coin
claim cashback = money back traders reward
claim token incentive = volume reward traders
sync user volume accumulator = update my trading volume
close user volume accumulator = rent back volume account
set creator = who receives creator fees
migrate bonding curve creator = who receives creator fees
claim vested token = locked launch tokens over time
claim creator trading fee = creator earnings
transfer pool creator = hand over launch pool earnings
withdraw leftover = unsold tokens after launch
withdraw migration fee = fee after graduation
create virtual pool metadata = website logo of launched token
insert address = add to tree
append leaf = add to tree
nullify leaf = spend from tree
new rewarder = start reward program
create quarry = new staking farm for token
create miner = join farm first time
rescue token = recover tokens sent by mistake
set annual reward = reward rate yearly
new minter = allow to print allowance
redeem all token = exchange iou for real tokens
transfer = hand over send to another owner
delete = remove give up get rent back
update = change content
propose boss = hand over control new boss
accept boss = take over control
set kill switch = emergency stop
flash fill order = fill with borrowed funds keeper
fill order = execute order keeper taker
close position request = cancel pending position request
create token ledger = record balance before swap
create open order = account for order book
place multi limit order = ladder of orders
consume event = crank order book
tokenize = turn share into token
invest = put idle vault funds to work
rebalance = adjust allocation
update allocation = change strategy weights
pause deposit withdrawal = stop in and out of fund
refund deposit = give back pending deposit
request deposit = ask to join fund
process deposit = manager admits deposits
manager withdraw = manager takes out
apply profit share = manager fee on profit
repay bad debt = cover loss lenders
rebalance position = recenter range price
collect and compound fee = reinvest auto compound lp fees
set limit order = stop loss take profit on lp
remove liquidity = reduce leveraged lp
create name = reserve register domain
"""


def _stems(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stem(w) for w in tokens(text) if w not in FILLERS))


def _sides(table: str) -> Iterable[tuple[str, str]]:
    for line in filter(None, table.splitlines()):
        left, right = line.split(" = ")
        yield left, right


@cache
def _phrase_patterns() -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    found = []
    for left, right in _sides(_PHRASES):
        for phrase in left.split(","):
            parts = [r"\S+" if w == "*" else " ".join(tokens(w)) for w in phrase.split()]
            found.append((re.compile(rf"(?<!\S){' '.join(parts)}(?!\S)"), _stems(right)))
    return found


def phrase_words(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the phrases of the field in *text* (plain words in lower case), each with the stems that it means."""
    found = []
    for pattern, meant in _phrase_patterns():
        match = pattern.search(text)
        if match is not None:
            found.append((match.group(), meant))
    return found


@cache
def _synonym_table() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in filter(None, _SYNONYMS.splitlines()):
        row = frozenset(_stems(line))
        for word in row:
            table[word] = table.get(word, frozenset()) | (row - {word})
    return table


def synonyms(word: str) -> frozenset[str]:
    """Return the stems that mean nearly the same as a stem."""
    return _synonym_table().get(word, frozenset())


@cache
def _glossary() -> dict[str, list[tuple[frozenset[str], tuple[str, ...]]]]:
    """The glossary by one word of each of its rows."""
    rows: dict[str, list[tuple[frozenset[str], tuple[str, ...]]]] = {}
    for left, right in _sides(_GLOSSARY):
        named = _stems(left)
        rows.setdefault(named[0], []).append((frozenset(named), _stems(right)))
    return rows


def glossary_stems(name: Iterable[str]) -> list[str]:
    """Return what an instruction with the stems *name* does, as stems of people's words."""
    words = frozenset(name)
    found: dict[str, None] = {}
    for word in words:
        for needed, meant in _glossary().get(word, ()):
            if needed <= words:
                found |= dict.fromkeys(meant)
    return list(found)


#: More words that names of programs have and that are no brands.
_PLAIN_WORDS = frozenset(
    _stems(
        """
        spl program solana core legacy native example test external simple hello anchor demo sample basic generic
        associated account token finance protocol network labs lab exchange dex swap pay payment system network
        stable weighted constant product dynamic bond curve data record feature option binary pair asks stateless
        compute extension state compression engine smart card contract multi sig auth rule governance
        """
    )
)


@cache
def _field_words() -> frozenset[str]:
    sides = [side for table in (_PHRASES, _GLOSSARY) for pair in _sides(table) for side in pair]
    return frozenset(_synonym_table()).union(*map(_stems, sides)) | _PLAIN_WORDS


def is_of_the_field(word: str) -> bool:
    """Return whether a stem is an ordinary word of the field, and no brand."""
    return word in _field_words() or len(word) < 3

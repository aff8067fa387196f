"""A program tells a client what it can do; the client builds, sends, reads back. On an in-process SVM: offline."""

from solders.keypair import Keypair

from mcpsol_py import ProgramFailed, connect_sync
from mcpsol_py.bundled import bundled_so
from mcpsol_py.client.svm import SvmTransport

wallet, program_id = Keypair(), Keypair().pubkey()
svm = SvmTransport()
svm.airdrop(wallet.pubkey())
svm.add_program(program_id, bundled_so("counter"))

counter = connect_sync(
    program_id, svm, wallet=wallet
)  # no IDL: the program itself is asked, by list_tools
print(counter.program.instructions)

create = counter.build("initialize", {"start": 5})  # address, wallet, programs: filled in
counter.send(create)
counter.send(counter.build("increment", {"amount": 37}))
print(counter.fetch("State", create.accounts[0].pubkey)["count"])
try:
    counter.send(counter.build("increment", {"amount": 2**64 - 1}))
except ProgramFailed as failure:
    print(failure)

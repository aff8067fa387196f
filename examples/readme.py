"""Ask a program for its schema, then build, send and read. Offline, on an in-process SVM."""

from solders.keypair import Keypair

from mcpsol_py import ProgramFailed, SvmTransport, bundled_so, connect_sync

wallet, program_id = Keypair(), Keypair().pubkey()
svm = SvmTransport()
svm.airdrop(wallet.pubkey())
svm.add_program(program_id, bundled_so("counter"))

# No IDL: the client asks the program itself, by simulating list_tools.
counter = connect_sync(program_id, svm, wallet=wallet)
print(counter.program.instructions)

# Only the argument is given; the client fills in the accounts.
create = counter.build("initialize", {"start": 5})
counter.send(create)
counter.send(counter.build("increment", {"amount": 37}))
print(counter.fetch("State", create.accounts[0].pubkey)["count"])
try:
    counter.send(counter.build("increment", {"amount": 2**64 - 1}))
except ProgramFailed as failure:
    print(failure)

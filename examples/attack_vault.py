"""A scenario for `idl2mcp attack`, as attack.py beside programs/vault/spec.py: a good call of `withdraw`, of a vault
that the program itself has filled. (The vault does without one: its calls can be made up.)"""

from mcpsol_py.attack import Call, Scene


def withdraw(scene: Scene) -> Call:
    owner, mint = scene.wallet("owner"), scene.mint()
    scene.send("initialize", {}, {"mint": mint, "authority": owner})
    vault = scene.pda(b"vault", bytes(owner.pubkey()), bytes(mint))
    purse = scene.tokens(mint, owner, 900)
    scene.send(
        "deposit",
        {"amount": 400},
        {"vault": vault, "source": purse, "mint": mint, "depositor": owner},
    )
    return Call(
        {"amount": 5},
        {"vault": vault, "mint": mint, "authority": owner, "destination": purse},
    )

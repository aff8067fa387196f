"""A scenario for `idl2mcp attack` on examples/multisig.py: good calls that carry out an approved proposal."""

from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.attack import Call, Scene

ALLOW = {
    "remove_member unbound member": "anybody may carry out an approved proposal, and gets the rent of the member"
}


def send(scene: Scene) -> Call:
    mint = scene.mint()
    safe = _safe_of(scene.wallet("creator"), scene)
    purse = scene.tokens(mint, safe, 900)
    destination = scene.tokens(mint, scene.wallet("receiver"), 0)
    given = {"source": purse, "destination": destination, "mint": mint}
    return Call({}, given | _approved(scene, action=0, target=destination, amount=400))


def add_member(scene: Scene) -> Call:
    return Call(
        {}, _approved(scene, action=1, target=scene.key("friend").pubkey(), amount=0)
    )


def remove_member(scene: Scene) -> Call:
    friend = scene.wallet("friend")
    added = _approved(scene, action=1, target=friend.pubkey(), amount=0)
    member = scene.pda(b"member", bytes(added["safe"]), bytes(friend.pubkey()))
    scene.send(
        "add_member", {}, added | {"member": member, "payer": scene.wallet("creator")}
    )
    removed = _approved(scene, action=2, target=friend.pubkey(), amount=0, number=1)
    return Call({}, removed | {"member": member})


def change_threshold(scene: Scene) -> Call:
    return Call(
        {}, _approved(scene, action=3, target=scene.key("nobody").pubkey(), amount=1)
    )


def _approved(
    scene: Scene, action: int, target: Pubkey, amount: int, number: int = 0
) -> dict[str, Pubkey]:
    """A safe of one member, and a proposal that this member approved."""
    creator = scene.wallet("creator")
    safe = _safe_of(creator, scene)
    proposal = scene.pda(b"proposal", bytes(safe), number.to_bytes(8, "little"))
    member = scene.pda(b"member", bytes(safe), bytes(creator.pubkey()))
    both = {"safe": safe, "member": member, "wallet": creator, "proposal": proposal}
    if number == 0:
        scene.send("create", {"safe_id": 7}, {"creator": creator})
    scene.send("propose", {"action": action, "target": target, "amount": amount}, both)
    scene.send("approve", {}, both)
    return {"safe": safe, "proposal": proposal}


def _safe_of(creator: Keypair, scene: Scene) -> Pubkey:
    return scene.pda(b"safe", bytes(creator.pubkey()), (7).to_bytes(8, "little"))

// Rendered by idl2mcp from spec.py; edit the source. [e3f584cda01b503f]
//! The pages of list_tools, and how they are found.

use {
    crate::error::Check,
    pinocchio::{error::ProgramError, hint::cold_path},
};

/// sha256("global:list_tools")[..8]
pub const LIST_TOOLS: u64 = u64::from_le_bytes([0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0]);

/// The JSON page of each cursor from 0.
static PAGES: [&[u8]; 23] = [
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"open\",\"d\":\"01\",\"p\":{\"payer_sw\":\"pubkey\",\"rent_payer_sw\":\"pubkey\",\"payee\":\"pubkey\",\"mint\":\"pubkey\",\"authorized_signer\":\"pubkey\",\"channel_w\":\"pubkey\",\"payer_token_account_w\":\"pubkey\",\"channel_token_account_w\":\"pubkey\",\"token_program\":\"pubkey\",\"system_program\":\"pubkey\",\"rent\":\"pubkey\",\"associated_token_program\":\"pubkey\",\"event_authority\":\"pubkey\",\"self_program\":\"pubkey\",\"salt\":\"u64\",\"deposit\":\"u64\",\"grace_period\":\"u32\",\"open_slot\":\"u64\",\"recipients\":\"Vec<DistributionEntry>\",\"read x\":\"x\"},\"r\":[\"payer_sw\",\"rent_payer_sw\",\"payee\",\"mint\",\"authorized_signer\",\"channel_w\",\"payer_token_account_w\",\"channel_token_account_w\",\"token_program\",\"system_program\",\"rent\",\"associated_token_program\",\"event_authority\",\"self_program\",\"salt\",\"deposit\",\"grace_period\",\"open_slot\",\"recipients\",\"read x\"]}],\"stream\":{\"at\":32768,\"size\":8692,\"text\":49761,\"sha256\":\"658ac1ed5805af7ba986938baab99e0e3e0e504f98ae41cbbe6d7c363c77ba86\"},\"nextCursor\":\"1\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"settle\",\"i\":\"Settle a voucher, which the Ed25519 instruction directly before this one proves. Anyone may call it.\",\"d\":\"02\",\"p\":{\"channel_w\":\"pubkey\",\"instructions_sysvar\":\"pubkey\"},\"r\":[\"channel_w\",\"instructions_sysvar\"]},{\"n\":\"top_up\",\"i\":\"Put more tokens into an open channel.\",\"d\":\"03\",\"p\":{\"payer_sw\":\"pubkey\",\"channel_w\":\"pubkey\",\"payer_token_account_w\":\"pubkey\",\"channel_token_account_w\":\"pubkey\",\"mint\":\"pubkey\",\"token_program\":\"pubkey\",\"amount\":\"u64\"},\"r\":[\"payer_sw\",\"channel_w\",\"payer_token_account_w\",\"channel_token_account_w\",\"mint\",\"token_program\",\"amount\"]},{\"n\":\"settle_and_seal\",\"i\":\"Seal a channel as its payee, with a last voucher or without one. It accepts no more vouchers.\",\"d\":\"04\",\"p\":{\"payee_s\":\"pubkey\",\"channel_w\":\"pubkey\",\"instructions_sysvar\":\"pubkey\",\"has_voucher\":\"u8\"},\"r\":[\"payee_s\",\"channel_w\",\"instructions_sysvar\",\"has_voucher\"]}],\"nextCursor\":\"2\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"request_close\",\"i\":\"Ask to close a channel as its payer. The payee then has the grace period for a last voucher.\",\"d\":\"05\",\"p\":{\"payer_s\":\"pubkey\",\"channel_w\":\"pubkey\"},\"r\":[\"payer_s\",\"channel_w\"]},{\"n\":\"seal\",\"i\":\"Seal a closing channel after its grace period. Anyone may call it.\",\"d\":\"06\",\"p\":{\"channel_w\":\"pubkey\"},\"r\":[\"channel_w\"]}],\"nextCursor\":\"3\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"distribute\",\"i\":\"Pay out what vouchers proved. If the channel is sealed, also refund the payer and close the escrow. Anyone\\nmay call it. What a missing or frozen token account cannot take stays in the channel.\",\"d\":\"07\",\"p\":{\"channel_w\":\"pubkey\",\"payer_w\":\"pubkey\",\"rent_payer_w\":\"pubkey\",\"channel_token_account_w\":\"pubkey\",\"payer_token_account_w\":\"pubkey\",\"payee_token_account_w\":\"pubkey\",\"treasury_token_account_w\":\"pubkey\",\"mint\":\"pubkey\",\"token_program\":\"pubkey\",\"event_authority\":\"pubkey\",\"self_program\":\"pubkey\",\"recipients\":\"Vec<DistributionEntry>\",\"read x\":\"x\"},\"r\":[\"channel_w\",\"payer_w\",\"rent_payer_w\",\"channel_token_account_w\",\"payer_token_account_w\",\"payee_token_account_w\",\"treasury_token_account_w\",\"mint\",\"token_program\",\"event_authority\",\"self_program\",\"recipients\",\"read x\"]}],\"nextCursor\":\"4\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"withdraw_payer\",\"i\":\"Take the rest out of a sealed channel as its payer, once: the tokens that no voucher proved.\",\"d\":\"08\",\"p\":{\"payer_s\":\"pubkey\",\"channel_w\":\"pubkey\",\"channel_token_account_w\":\"pubkey\",\"payer_token_account_w\":\"pubkey\",\"mint\":\"pubkey\",\"token_program\":\"pubkey\"},\"r\":[\"payer_s\",\"channel_w\",\"channel_token_account_w\",\"payer_token_account_w\",\"mint\",\"token_program\"]},{\"n\":\"reclaim\",\"i\":\"Close the account of a drained channel after its window of 1,500 slots. Anyone may call it.\",\"d\":\"09\",\"p\":{\"channel_w\":\"pubkey\",\"rent_payer_w\":\"pubkey\"},\"r\":[\"channel_w\",\"rent_payer_w\"]},{\"n\":\"emit_event\",\"i\":\"Carries an event, as a call of the program to itself. Only the program can call it.\",\"d\":\"e4\",\"p\":{\"event_authority_s\":\"pubkey\",\"event\":\"raw\",\"read x\":\"x\"},\"r\":[\"event_authority_s\",\"event\",\"read x\"]}],\"nextCursor\":\"5\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"pay\",\"i\":\"Pay for one call and leave a receipt. A payment id is never paid twice.\",\"d\":\"10\",\"p\":{\"authority_s\":\"pubkey\",\"rent_payer_sw\":\"pubkey\",\"payer\":\"pubkey\",\"payee\":\"pubkey\",\"mint\":\"pubkey\",\"source_w\":\"pubkey\",\"destination_w\":\"pubkey\",\"receipt_w\":\"pubkey\",\"token_program\":\"pubkey\",\"system_program\":\"pubkey\",\"payment_id\":\"[u8; 32]\",\"call_hash\":\"[u8; 32]\",\"amount\":\"u64\",\"expires_at\":\"i64\",\"read x\":\"x\"},\"r\":[\"authority_s\",\"rent_payer_sw\",\"payer\",\"payee\",\"mint\",\"source_w\",\"destination_w\",\"receipt_w\",\"token_program\",\"system_program\",\"payment_id\",\"call_hash\",\"amount\",\"expires_at\",\"read x\"]},{\"n\":\"close_receipt\",\"i\":\"Close a receipt and return its rent, 7 days after its expiry or later. Anyone may call it.\",\"d\":\"11\",\"p\":{\"receipt_w\":\"pubkey\",\"rent_payer_w\":\"pubkey\"},\"r\":[\"receipt_w\",\"rent_payer_w\"]}],\"nextCursor\":\"6\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"create_plan\",\"i\":\"Create a plan, to which others can subscribe.\",\"d\":\"20\",\"p\":{\"plan_w\":\"pubkey\",\"merchant_sw\":\"pubkey\",\"mint\":\"pubkey\",\"token_program\":\"pubkey\",\"system_program\":\"pubkey\",\"plan_id\":\"u64\",\"price\":\"u64\",\"period\":\"u32\",\"trial\":\"u32\",\"grace\":\"u32\",\"max_charges\":\"u32\"},\"r\":[\"plan_w\",\"merchant_sw\",\"mint\",\"token_program\",\"system_program\",\"plan_id\",\"price\",\"period\",\"trial\",\"grace\",\"max_charges\"]},{\"n\":\"set_plan_open\",\"i\":\"Open a plan to new subscribers, or close it to them.\",\"d\":\"21\",\"p\":{\"plan_w\":\"pubkey\",\"merchant_s\":\"pubkey\",\"open\":\"bool\"},\"r\":[\"plan_w\",\"merchant_s\",\"open\"]},{\"n\":\"close_plan\",\"i\":\"Close a plan and return its rent. Its subscriptions keep their terms.\",\"d\":\"22\",\"p\":{\"plan_w\":\"pubkey\",\"merchant_sw\":\"pubkey\"},\"r\":[\"plan_w\",\"merchant_sw\"]}],\"nextCursor\":\"7\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"subscribe\",\"i\":\"Subscribe to a plan. Without a trial, the first period is charged at once. Later charges can take no more\\nthan the agreed number of periods.\",\"d\":\"23\",\"p\":{\"subscription_w\":\"pubkey\",\"plan\":\"pubkey\",\"subscriber_s\":\"pubkey\",\"rent_payer_sw\":\"pubkey\",\"merchant\":\"pubkey\",\"mint\":\"pubkey\",\"source_w\":\"pubkey\",\"destination_w\":\"pubkey\",\"delegate\":\"pubkey\",\"token_program\":\"pubkey\",\"system_program\":\"pubkey\",\"price\":\"u64\",\"period\":\"u32\",\"trial\":\"u32\",\"grace\":\"u32\",\"periods\":\"u32\"},\"r\":[\"subscription_w\",\"plan\",\"subscriber_s\",\"rent_payer_sw\",\"merchant\",\"mint\",\"source_w\",\"destination_w\",\"delegate\",\"token_program\",\"system_program\",\"price\",\"period\",\"trial\",\"grace\",\"periods\"]}],\"nextCursor\":\"8\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"charge\",\"i\":\"Charge a subscription that is due, once a period. Anyone may call it. Missed periods are not charged.\",\"d\":\"24\",\"p\":{\"subscription_w\":\"pubkey\",\"subscriber\":\"pubkey\",\"merchant\":\"pubkey\",\"mint\":\"pubkey\",\"source_w\":\"pubkey\",\"destination_w\":\"pubkey\",\"delegate\":\"pubkey\",\"token_program\":\"pubkey\"},\"r\":[\"subscription_w\",\"subscriber\",\"merchant\",\"mint\",\"source_w\",\"destination_w\",\"delegate\",\"token_program\"]},{\"n\":\"change_plan\",\"i\":\"Agree to another plan of the same merchant and mint, or to more periods of the same plan, from the next\\ncharge on.\",\"d\":\"25\",\"p\":{\"subscription_w\":\"pubkey\",\"plan\":\"pubkey\",\"subscriber_s\":\"pubkey\",\"merchant\":\"pubkey\",\"mint\":\"pubkey\",\"source_w\":\"pubkey\",\"delegate\":\"pubkey\",\"token_program\":\"pubkey\",\"price\":\"u64\",\"period\":\"u32\",\"grace\":\"u32\",\"periods\":\"u32\"},\"r\":[\"subscription_w\",\"plan\",\"subscriber_s\",\"merchant\",\"mint\",\"source_w\",\"delegate\",\"token_program\",\"price\",\"period\",\"grace\",\"periods\"]}],\"nextCursor\":\"9\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"cancel\",\"i\":\"Cancel a subscription as its subscriber, at any time. Nothing more is charged, and nothing is refunded.\",\"d\":\"26\",\"p\":{\"subscription_w\":\"pubkey\",\"subscriber_s\":\"pubkey\",\"mint\":\"pubkey\",\"source_w\":\"pubkey\",\"delegate\":\"pubkey\",\"token_program\":\"pubkey\"},\"r\":[\"subscription_w\",\"subscriber_s\",\"mint\",\"source_w\",\"delegate\",\"token_program\"]},{\"n\":\"merchant_cancel\",\"i\":\"Cancel a subscription as its merchant, and refund the unused part of the paid period. If the subscriber's\\naccount cannot take a refund, the subscriber keeps the paid time instead.\",\"d\":\"27\",\"p\":{\"subscription_w\":\"pubkey\",\"merchant_s\":\"pubkey\",\"subscriber\":\"pubkey\",\"mint\":\"pubkey\",\"source_w\":\"pubkey\",\"destination_w\":\"pubkey\",\"delegate\":\"pubkey\",\"token_program\":\"pubkey\"},\"r\":[\"subscription_w\",\"merchant_s\",\"subscriber\",\"mint\",\"source_w\",\"destination_w\",\"delegate\",\"token_program\"]}],\"nextCursor\":\"10\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[{\"n\":\"close_subscription\",\"i\":\"Close a cancelled or expired subscription after its paid time, and return its rent. Anyone may call it. The\\nprogram's allowance for it is taken back first.\",\"d\":\"28\",\"p\":{\"subscription_w\":\"pubkey\",\"rent_payer_w\":\"pubkey\",\"subscriber\":\"pubkey\",\"mint\":\"pubkey\",\"source_w\":\"pubkey\",\"delegate\":\"pubkey\",\"token_program\":\"pubkey\"},\"r\":[\"subscription_w\",\"rent_payer_w\",\"subscriber\",\"mint\",\"source_w\",\"delegate\",\"token_program\"]},{\"n\":\"quote\",\"i\":\"Return the price of subscribing to a plan for some periods. Changes nothing.\",\"d\":\"30\",\"p\":{\"plan\":\"pubkey\",\"periods\":\"u32\"},\"r\":[\"plan\",\"periods\"]},{\"n\":\"channel_status\",\"i\":\"Return the state of a channel. Changes nothing.\",\"d\":\"31\",\"p\":{\"channel\":\"pubkey\"},\"r\":[\"channel\"]},{\"n\":\"subscription_status\",\"i\":\"Return the state of a subscription. Changes nothing.\",\"d\":\"32\",\"p\":{\"subscription\":\"pubkey\"},\"r\":[\"subscription\"]}],\"nextCursor\":\"11\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[0,0,2,\"{\\\"i\\\":\\\"Open a channel: put tokens into escrow, from which vouchers of the authorized signer pay the payee.\\\",\\\"x\\\":{\\\"s\\\":{\\\"channel_w\\\":[[[\\\"const\\\",\\\"6368616e6e656c\\\"],[\\\"account\\\",[\\\"payer\\\"]],[\\\"account\\\",[\\\"payee\\\"]],[\\\"account\\\",[\\\"mint\\\"]],[\\\"account\\\",[\\\"authorized_signer\\\"]],[\\\"arg\\\",[\\\"salt\\\"],\\\"u64\\\"],[\\\"arg\\\",[\\\"open_slot\\\"],\\\"u64\\\"]]],\\\"payer_token_account_w\\\":[[[\\\"account\\\",[\\\"payer\\\"]],[\\\"account\\\",[\\\"token_program\\\"]],[\\\"account\\\",[\\\"mint\\\"]]],[\\\"const\\\",\\\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\\\"]],\\\"channel_token_account_w\\\":[[[\\\"account\\\",[\\\"channel\\\"]],[\\\"account\\\",[\\\"token_program\\\"]],[\\\"account\\\",[\\\"mint\\\"]]],[\\\"const\\\",\\\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\\\"]],\\\"event_authority\\\":[[[\\\"const\\\",\\\"6576656e745f617574686f72697479\\\"]]]},\\\"a\\\":{\\\"system_program\\\":\\\"11111111111111111111111111111111\\\",\\\"rent\\\":\\\"SysvarRent111111111111111111111111111111111\\\",\\\"associated_token_program\"]],\"nextCursor\":\"12\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[0,1,2,\"\\\":\\\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\\\",\\\"self_program\\\":\\\"8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz\\\"},\\\"t\\\":{\\\"recipients\\\":[\\\"vec\\\",\\\"@DistributionEntry\\\"]}}}\"],[1,{\"x\":{\"a\":{\"instructions_sysvar\":\"Sysvar1nstructions1111111111111111111111111\"}}}],[2,{\"x\":{\"s\":{\"payer_token_account_w\":[[[\"account\",[\"payer\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"channel_token_account_w\":[[[\"account\",[\"channel\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]]}}}],[3,{\"x\":{\"a\":{\"instructions_sysvar\":\"Sysvar1nstructions1111111111111111111111111\"}}}]],\"nextCursor\":\"13\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[6,0,2,\"{\\\"x\\\":{\\\"s\\\":{\\\"channel_w\\\":[[[\\\"const\\\",\\\"6368616e6e656c\\\"],[\\\"account\\\",[\\\"channel\\\"],[\\\"payer\\\"],\\\"Channel\\\",\\\"pubkey\\\"],[\\\"account\\\",[\\\"channel\\\"],[\\\"payee\\\"],\\\"Channel\\\",\\\"pubkey\\\"],[\\\"account\\\",[\\\"channel\\\"],[\\\"mint\\\"],\\\"Channel\\\",\\\"pubkey\\\"],[\\\"account\\\",[\\\"channel\\\"],[\\\"authorized_signer\\\"],\\\"Channel\\\",\\\"pubkey\\\"],[\\\"account\\\",[\\\"channel\\\"],[\\\"salt\\\"],\\\"Channel\\\",\\\"u64\\\"],[\\\"account\\\",[\\\"channel\\\"],[\\\"open_slot\\\"],\\\"Channel\\\",\\\"u64\\\"]]],\\\"channel_token_account_w\\\":[[[\\\"account\\\",[\\\"channel\\\"]],[\\\"account\\\",[\\\"token_program\\\"]],[\\\"account\\\",[\\\"mint\\\"]]],[\\\"const\\\",\\\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\\\"]],\\\"payer_token_account_w\\\":[[[\\\"account\\\",[\\\"payer\\\"]],[\\\"account\\\",[\\\"token_program\\\"]],[\\\"account\\\",[\\\"mint\\\"]]],[\\\"const\\\",\\\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\\\"]],\\\"payee_token_account_w\\\":[[[\\\"account\\\",[\\\"channel\\\"],[\\\"payee\\\"],\\\"Channel\\\",\\\"pubkey\\\"],[\\\"account\\\",[\\\"token_program\"]],\"nextCursor\":\"14\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[6,1,2,\"\\\"]],[\\\"account\\\",[\\\"mint\\\"]]],[\\\"const\\\",\\\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\\\"]],\\\"treasury_token_account_w\\\":[[[\\\"const\\\",\\\"beefbeefbeefbeefbeefbeefbeefbeefbeefbeefbeefbeefbeefbeefbeefbeef\\\"],[\\\"account\\\",[\\\"token_program\\\"]],[\\\"account\\\",[\\\"mint\\\"]]],[\\\"const\\\",\\\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\\\"]],\\\"event_authority\\\":[[[\\\"const\\\",\\\"6576656e745f617574686f72697479\\\"]]]},\\\"a\\\":{\\\"self_program\\\":\\\"8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz\\\"},\\\"t\\\":{\\\"recipients\\\":[\\\"vec\\\",\\\"@DistributionEntry\\\"]},\\\"rest\\\":[{\\\"name\\\":\\\"recipient_token_accounts\\\",\\\"writable\\\":true}]}}\"]],\"nextCursor\":\"15\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[7,{\"x\":{\"s\":{\"channel_w\":[[[\"const\",\"6368616e6e656c\"],[\"account\",[\"channel\"],[\"payer\"],\"Channel\",\"pubkey\"],[\"account\",[\"channel\"],[\"payee\"],\"Channel\",\"pubkey\"],[\"account\",[\"channel\"],[\"mint\"],\"Channel\",\"pubkey\"],[\"account\",[\"channel\"],[\"authorized_signer\"],\"Channel\",\"pubkey\"],[\"account\",[\"channel\"],[\"salt\"],\"Channel\",\"u64\"],[\"account\",[\"channel\"],[\"open_slot\"],\"Channel\",\"u64\"]]],\"channel_token_account_w\":[[[\"account\",[\"channel\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"payer_token_account_w\":[[[\"account\",[\"payer\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]]}}}],[9,{\"x\":{\"s\":{\"event_authority_s\":[[[\"const\",\"6576656e745f617574686f72697479\"]]]}}}]],\"nextCursor\":\"16\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[10,{\"x\":{\"s\":{\"destination_w\":[[[\"account\",[\"payee\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"receipt_w\":[[[\"const\",\"72656365697074\"],[\"account\",[\"payer\"]],[\"account\",[\"payee\"]],[\"account\",[\"mint\"]],[\"arg\",[\"payment_id\"],[\"array\",\"u8\",32]]]]},\"a\":{\"system_program\":\"11111111111111111111111111111111\"},\"t\":{\"payment_id\":[\"array\",\"u8\",32],\"call_hash\":[\"array\",\"u8\",32]}}}],[12,{\"x\":{\"s\":{\"plan_w\":[[[\"const\",\"706c616e\"],[\"account\",[\"merchant\"]],[\"arg\",[\"plan_id\"],\"u64\"]]]},\"a\":{\"system_program\":\"11111111111111111111111111111111\"}}}]],\"nextCursor\":\"17\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[15,{\"x\":{\"s\":{\"subscription_w\":[[[\"const\",\"737562736372697074696f6e\"],[\"account\",[\"plan\"]],[\"account\",[\"subscriber\"]]]],\"source_w\":[[[\"account\",[\"subscriber\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"destination_w\":[[[\"account\",[\"merchant\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"delegate\":[[[\"const\",\"64656c6567617465\"],[\"account\",[\"subscriber\"]]]]},\"a\":{\"system_program\":\"11111111111111111111111111111111\"}}}]],\"nextCursor\":\"18\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[16,{\"x\":{\"s\":{\"source_w\":[[[\"account\",[\"subscriber\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"destination_w\":[[[\"account\",[\"merchant\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"delegate\":[[[\"const\",\"64656c6567617465\"],[\"account\",[\"subscriber\"]]]]}}}],[17,{\"x\":{\"s\":{\"source_w\":[[[\"account\",[\"subscriber\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"delegate\":[[[\"const\",\"64656c6567617465\"],[\"account\",[\"subscriber\"]]]]}}}],[18,{\"x\":{\"s\":{\"source_w\":[[[\"account\",[\"subscriber\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"delegate\":[[[\"const\",\"64656c6567617465\"],[\"account\",[\"subscriber\"]]]]}}}]],\"nextCursor\":\"19\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"more\":[[19,{\"x\":{\"s\":{\"source_w\":[[[\"account\",[\"merchant\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"destination_w\":[[[\"account\",[\"subscriber\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"delegate\":[[[\"const\",\"64656c6567617465\"],[\"account\",[\"subscriber\"]]]]}}}],[20,{\"x\":{\"s\":{\"source_w\":[[[\"account\",[\"subscriber\"]],[\"account\",[\"token_program\"]],[\"account\",[\"mint\"]]],[\"const\",\"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL\"]],\"delegate\":[[[\"const\",\"64656c6567617465\"],[\"account\",[\"subscriber\"]]]]},\"rest\":[{\"name\":\"ended_subscriptions\",\"constraints\":{\"state\":\"Subscription\"}}]}}],[21,{\"x\":{\"ret\":\"@Quote\"}}],[22,{\"x\":{\"ret\":\"@ChannelReport\"}}],[23,{\"x\":{\"ret\":\"@SubscriptionReport\"}}]],\"nextCursor\":\"20\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"types\":[{\"name\":\"DistributionEntry\",\"type\":[\"struct\",[[\"recipient\",\"pubkey\",[\"The wallet. Its associated token account gets the tokens.\"]],[\"bps\",\"u16\",[\"Its share in hundredths of a percent, 1 to 10,000.\"]]]]},{\"name\":\"Quote\",\"type\":[\"struct\",[[\"price\",\"u64\",[\"Tokens for each period, in base units.\"]],[\"first_charge\",\"u64\",[\"Tokens charged at once: 0 if there is a trial.\"]],[\"allowance\",\"u64\",[\"The most tokens that all later charges together can take.\"]],[\"first_due\",\"i64\",[\"When the first charge after subscribing is due, in seconds since 1970.\"]],[\"period\",\"u32\",[\"Seconds in a period.\"]],[\"mint\",\"pubkey\",[\"The mint of the tokens.\"]],[\"open\",\"bool\",[\"The plan takes new subscribers.\"]]]]}],\"nextCursor\":\"21\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"types\":[{\"name\":\"ChannelReport\",\"type\":[\"struct\",[[\"state\",\"@ChannelState\",[\"Open, Sealed, Closing or Distributed.\"]],[\"deposit\",\"u64\",[\"Tokens that the payer put in, in base units.\"]],[\"settled\",\"u64\",[\"Tokens that vouchers proved, in base units.\"]],[\"undistributed\",\"u64\",[\"Tokens that vouchers proved and that are not paid out yet.\"]],[\"unspent\",\"u64\",[\"Tokens that no voucher proved. A new voucher can claim them, or the payer gets them back.\"]],[\"seal_at\",\"i64\",[\"The time from which anyone may seal a closing channel, in seconds since 1970; else 0.\"]],[\"reclaim_slot\",\"u64\",[\"The slot from which the account can be closed.\"]]]]},{\"name\":\"ChannelState\",\"type\":[\"enum\",[[\"Open\"],[\"Sealed\"],[\"Closing\"],[\"Distributed\"]]]}],\"nextCursor\":\"22\"}",
    b"{\"v\":\"2024-11-05\",\"name\":\"x402\",\"x\":1,\"tools\":[],\"types\":[{\"name\":\"SubscriptionReport\",\"type\":[\"struct\",[[\"state\",\"@SubscriptionState\",[\"Pending (trial), Active, PastDue, Cancelled or Expired.\"]],[\"chargeable\",\"bool\",[\"A charge would succeed now.\"]],[\"price\",\"u64\",[\"Tokens for each charge, in base units.\"]],[\"charges\",\"u32\",[\"Charges made under these terms.\"]],[\"max_charges\",\"u32\",[\"The most charges that may be made.\"]],[\"due_at\",\"i64\",[\"The time when the next charge is due, or the paid time ends, in seconds since 1970.\"]],[\"expires_at\",\"i64\",[\"The time when it expires without a charge, in seconds since 1970.\"]]]]},{\"name\":\"SubscriptionState\",\"type\":[\"enum\",[[\"Pending\"],[\"Active\"],[\"PastDue\"],[\"Cancelled\"],[\"Expired\"]]]}]}",
];

/// The whole model, compressed. Page 0 has its cursor, length and sha256.
const STREAM_BYTES: &[u8] = include_bytes!("schema.bin");

/// The page of the stream for each cursor from `STREAM_BASE`.
static STREAM: [&[u8]; 9] = [
    part(0, 1024),
    part(1024, 2048),
    part(2048, 3072),
    part(3072, 4096),
    part(4096, 5120),
    part(5120, 6144),
    part(6144, 7168),
    part(7168, 8192),
    part(8192, 8782),
];

const STREAM_BASE: usize = 32768;

const fn part(from: usize, to: usize) -> &'static [u8] {
    STREAM_BYTES.split_at(to).0.split_at(from).1
}

#[inline(always)]
fn json_page(cursor: usize) -> Option<&'static [u8]> {
    PAGES.get(cursor).copied()
}

#[inline(always)]
fn any_page(cursor: usize) -> Option<&'static [u8]> {
    match json_page(cursor) {
        None => STREAM.get(cursor.wrapping_sub(STREAM_BASE)).copied(),
        found => found,
    }
}

/// Answers list_tools if it comes without accounts, as clients send it. Returns the exit code, or
/// None for every other call and for a cursor without a page.
///
/// Without accounts the loader's buffer has each part at a fixed offset, so nothing is parsed:
/// the number of accounts at 0, the length of the data at 8, the data at 16. The most frequent
/// cursors come first: one byte, then two, then none.
///
/// # Safety
///
/// `input` is the loader's buffer, which has at least 48 bytes.
#[inline(always)]
pub unsafe fn list_tools_without_accounts(input: *const u8) -> Option<u64> {
    // SAFETY: these words are there and aligned, and the cursor is within the data's length.
    unsafe {
        let accounts = input.cast::<u64>().read();
        if accounts != 0 || input.add(16).cast::<u64>().read() != LIST_TOOLS {
            return None;
        }
        let length = input.add(8).cast::<u64>().read();
        if length == 9 {
            let cursor = usize::from(input.add(24).read());
            if cursor == 0 {
                return Some(answer(PAGES[0]));
            }
            cold_path();
            return json_page(cursor).map(answer);
        }
        cold_path();
        if length == 10 {
            return any_page(usize::from(input.add(24).cast::<u16>().read())).map(answer);
        }
        cold_path();
        if length == 8 {
            return Some(answer(PAGES[0]));
        }
        None
    }
}

/// Returns `page` to the caller. The syscall leaves 0 in the register of the exit code.
#[inline(always)]
fn answer(page: &[u8]) -> u64 {
    // SAFETY: the syscall reads `page.len()` bytes from `page`.
    unsafe { sol_set_return_data(page.as_ptr(), page.len() as u64) }
}

// As in solana-define-syscall, but with the result, which is 0.
#[cfg(any(target_os = "solana", target_arch = "bpf"))]
solana_define_syscall::define_syscall!(fn sol_set_return_data(data: *const u8, length: u64) -> u64);

#[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
unsafe fn sol_set_return_data(data: *const u8, length: u64) -> u64 {
    core::hint::black_box((data, length));
    0
}

/// Answers list_tools if it comes with accounts, and fails for an unknown instruction. Returns the
/// exit code.
///
/// A function apart, so that other instructions do not pay for the comparison.
#[cold]
#[inline(never)]
pub fn list_tools(discriminator: u64, cursor: &[u8]) -> u64 {
    if discriminator != LIST_TOOLS {
        return ProgramError::from(Check::InstructionFallbackNotFound).into();
    }
    let cursor = match *cursor {
        [] => Some(0),
        [low] => Some(usize::from(low)),
        [low, high] => Some(usize::from(u16::from_le_bytes([low, high]))),
        _ => None,
    };
    match cursor.and_then(any_page) {
        Some(page) => answer(page),
        None => ProgramError::InvalidInstructionData.into(),
    }
}

/// Like `list_tools`, for the whole instruction data.
#[cold]
#[inline(never)]
pub fn list_tools_in(data: &[u8]) -> u64 {
    match data.split_first_chunk() {
        Some((discriminator, cursor)) => list_tools(u64::from_le_bytes(*discriminator), cursor),
        None => ProgramError::from(Check::InstructionFallbackNotFound).into(),
    }
}

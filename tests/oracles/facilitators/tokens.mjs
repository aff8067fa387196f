// The headers that the published SDKs of CDP and PayAI make. One JSON request on stdin, one JSON answer on stdout.
//
// {"service": "cdp", "id", "secret", "method", "host", "path"} -> {"token"}
// {"service": "payai", "id", "secret"}                          -> {"token"}
import { readFileSync } from "node:fs";
import { generateJwt } from "@coinbase/cdp-sdk/auth";
import { createFacilitatorConfig } from "@payai/facilitator";

const makers = {
  cdp: ({ id, secret, method, host, path }) =>
    generateJwt({
      apiKeyId: id,
      apiKeySecret: secret,
      requestMethod: method,
      requestHost: host,
      requestPath: path,
    }),
  payai: async ({ id, secret }) => {
    const headers = await createFacilitatorConfig(id, secret).createAuthHeaders();
    return headers.settle.Authorization.replace("Bearer ", "");
  },
};
const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({ token: await makers[asked.service](asked) }));

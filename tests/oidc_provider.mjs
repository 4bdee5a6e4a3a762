// A certified provider of OpenID Connect, for tests: `node tests/oidc_provider.mjs MODULES PORT CALLBACK HOME`. Its development
// pages let in whoever names somebody. It prints a line when it listens.

import { createRequire } from "node:module";
import { generateKeyPairSync } from "node:crypto";
import { pathToFileURL } from "node:url";

const [modules, port, callback, home] = process.argv.slice(2);
const found = createRequire(`${modules}/package.json`).resolve("oidc-provider");
const { default: Provider } = await import(pathToFileURL(found).href);

const issuer = `http://127.0.0.1:${port}`;
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "threadkeep",
      client_secret: "a secret of the test, thirty-two",
      redirect_uris: [callback],
      post_logout_redirect_uris: [home],
      id_token_signed_response_alg: "ES256",
    },
  ],
  jwks: { keys: [{ ...key, use: "sig", alg: "ES256", kid: "test" }] },
  cookies: { keys: ["a key of the test"] },
  pkce: { required: () => true },
  conformIdTokenClaims: false,
  claims: { openid: ["sub", "org"], profile: ["name"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, org: "acme", name: id }) }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log(issuer));

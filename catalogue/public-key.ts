/**
 * Ed25519 key, 32 bytes in base64, of the publisher whose catalogues a release accepts by itself. Undefined: nobody publishes
 * one yet, and an operator names a publisher (`catalogue.public_key`, `--public-key`). docs/releasing.md says how it is made.
 */
export const PUBLIC_KEY: string | undefined = undefined

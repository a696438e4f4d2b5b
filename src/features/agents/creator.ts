/**
 * With whose rights, and on whose budget, a run works: whoever asked for it. It is written down here, and looked up anew
 * before each call of a model: what they may no longer do, their agents may not either.
 */
import type { Caller } from '../../domain/caller.ts'
import type { KeyId, UserId } from '../../domain/ids.ts'

export interface Creator {
  readonly kind: Caller['kind']
  /** The key; the device's id of a token; the user's id of a session. */
  readonly keyId: KeyId
  /** Who is behind a token or a session. */
  readonly userId: UserId | undefined
  /** Where the request came from: what a key's allowlist is held against. */
  readonly address: string
}

export function creatorOf({ kind, keyId, userId }: Caller, address: string): Creator {
  return { kind, keyId, userId, address }
}

/** As the agent's row has it. */
export function creatorColumns(creator: Creator): { readonly key_id: KeyId; readonly creator: string } {
  return { key_id: creator.keyId, creator: JSON.stringify(creator) }
}

export function readCreator({ creator }: { readonly creator: string }): Creator {
  const { userId, ...others } = JSON.parse(creator) as Creator // as `creatorColumns` wrote it
  return { userId, ...others }
}

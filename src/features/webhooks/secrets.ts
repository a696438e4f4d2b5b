/** Secrets of endpoints, as they are kept: sealed with a key of the installation, each for its endpoint alone. */

import { seal, unseal } from '../../db/sealed.ts'
import type { WebhookId } from '../../domain/ids.ts'

export interface WebhookSecrets {
  /** @param secret As it is shown. */
  seal(secret: string, webhookId: WebhookId): Uint8Array
  /** Undefined when it was sealed with a key that is no longer there. */
  open(sealed: Uint8Array, webhookId: WebhookId): string | undefined
  /** What only the key before has sealed, with the one in use; undefined for everything else. */
  renew(sealed: Uint8Array, webhookId: WebhookId): Uint8Array | undefined
}

export interface WebhookSecretKeys {
  /** 32 bytes each. */
  readonly current: Uint8Array
  /** While the installation's secret is being changed. */
  readonly previous?: Uint8Array | undefined
}

export function createWebhookSecrets({ current, previous }: WebhookSecretKeys): WebhookSecrets {
  return {
    seal: (secret, webhookId) => seal(secret, current, webhookId),
    open(sealed, webhookId) {
      const secret = unseal(sealed, current, webhookId)
      if (secret !== undefined || previous === undefined) return secret
      return unseal(sealed, previous, webhookId)
    },
    renew(sealed, webhookId) {
      if (previous === undefined || unseal(sealed, current, webhookId) !== undefined) return undefined
      const secret = unseal(sealed, previous, webhookId)
      return secret === undefined ? undefined : seal(secret, current, webhookId)
    },
  }
}

import { useEffect } from 'react'
import { api, take } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { replayOf } from '../../lib/chat-text.ts'
import { toast } from '../../ui/announcer.tsx'
import { draftOf, type SetDraft } from './use-draft.ts'

/** Drafts the stored prompt of a request, once for each ID in the address. */
export function useReplay(id: string | undefined, setDraft: SetDraft): void {
  useEffect(() => {
    if (id === undefined) return
    let isCurrent = true
    take(api.GET('/v1/usage/completions/{id}/content', { params: { path: { id } } })).then(
      ({ messages }) => {
        if (isCurrent) setDraft(({ settings }) => draftOf({ ...replayOf(messages), settings }))
      },
      (error: unknown) => {
        if (isCurrent) toast(problemOf(error).message, { tone: 'bad' })
      },
    )
    return () => {
      isCurrent = false
    }
  }, [id, setDraft])
}

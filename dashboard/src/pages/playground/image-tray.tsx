import { X } from 'lucide-react'
import { formatBytes } from '../../lib/format.ts'
import { IconButton } from '../../ui/button.tsx'
import type { Image } from './conversation.ts'
import type { SetDraft } from './use-draft.ts'

/** What is attached to the message. */
export function ImageTray({ images, setDraft }: { readonly images: readonly Image[]; readonly setDraft: SetDraft }) {
  if (images.length === 0) return null
  const remove = (id: string) => setDraft((now) => ({ ...now, images: now.images.filter((image) => image.id !== id) }))
  return (
    <ul aria-label="Attached images" className="flex flex-wrap gap-2">
      {images.map(({ id, name, dataUrl, bytes }) => (
        <li key={id} className="flex max-w-full items-center gap-2 rounded-lg border border-line p-1.5">
          <img src={dataUrl} alt="" className="size-10 rounded-md object-cover" />
          <span className="flex min-w-0 flex-col">
            <span className="max-w-40 truncate text-sm text-ink">{name}</span>
            <span className="text-xs text-soft tabular-nums">{formatBytes(bytes)}</span>
          </span>
          <IconButton label={`Remove ${name}`} icon={X} size="sm" onClick={() => remove(id)} />
        </li>
      ))}
    </ul>
  )
}

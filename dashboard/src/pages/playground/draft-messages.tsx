import { X } from 'lucide-react'
import { IconButton } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { SelectField, TextArea } from '../../ui/field.tsx'
import type { Speaker } from './conversation.ts'
import { MESSAGE_ID } from './message-focus.ts'
import type { Draft, DraftMessage, SetDraft } from './use-draft.ts'

const ROLES: readonly { readonly value: Speaker; readonly label: string }[] = [
  { value: 'user', label: 'User' },
  { value: 'assistant', label: 'Assistant' },
]

export interface DraftMessagesProps {
  readonly draft: Draft
  readonly setDraft: SetDraft
  readonly className?: string
}

/** The message, and those before it that are said with it: examples of how to answer, for one. */
export function DraftMessages({ draft: { messages }, setDraft, className }: DraftMessagesProps) {
  const change = (id: number, part: Partial<DraftMessage>) =>
    setDraft((now) => ({
      ...now,
      messages: now.messages.map((message) => (message.id === id ? { ...message, ...part } : message)),
    }))
  const remove = (id: number) =>
    setDraft((now) => ({ ...now, messages: now.messages.filter((message) => message.id !== id) }))
  return (
    <div className={classNames('flex min-w-0 flex-col gap-3', className)}>
      {messages.map((message, index) => (
        <div key={message.id} className="flex min-w-0 items-start gap-2">
          <MessageText
            message={message}
            label={messages.length === 1 ? 'Message' : `Message ${index + 1}`}
            isLast={index === messages.length - 1}
            onText={(text) => change(message.id, { text })}
          />
          {messages.length > 1 && (
            <div className="flex w-32 shrink-0 flex-col gap-1.5">
              <div className="flex items-end gap-1">
                <SelectField
                  label={`Role of message ${index + 1}`}
                  hideLabel
                  value={message.role}
                  onChange={(role: Speaker) => change(message.id, { role })}
                  options={ROLES}
                  className="mt-6.5 flex-1"
                />
                <IconButton label={`Remove message ${index + 1}`} icon={X} onClick={() => remove(message.id)} />
              </div>
            </div>
          )}
        </div>
      ))}
    </div>
  )
}

interface MessageTextProps {
  readonly message: DraftMessage
  readonly label: string
  readonly isLast: boolean
  readonly onText: (text: string) => void
}

function MessageText({ message, label, isLast, onText }: MessageTextProps) {
  return (
    <div id={isLast ? MESSAGE_ID : undefined} className="min-w-0 flex-1">
      <TextArea
        label={label}
        value={message.text}
        onChange={onText}
        placeholder={isLast ? 'Ask something' : ''}
        rows={isLast ? 3 : 2}
      />
    </div>
  )
}

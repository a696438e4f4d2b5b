import { classNames } from '../../ui/class-names.ts'
import { Dash } from '../../ui/values.tsx'
import { capabilitiesOf, type Listed } from './listing.ts'
import { CAPABILITY_WORDS } from './words.ts'

export interface CapabilitiesProps {
  readonly model: Listed
  /** Where there is little room, words are in the tooltip of their icon, and for screen readers. */
  readonly isShort?: boolean
  readonly className?: string
}

export function Capabilities({ model, isShort = false, className }: CapabilitiesProps) {
  // (all of them stream; where there is little room, that is not worth an icon)
  const names = capabilitiesOf(model).filter((name) => !isShort || name !== 'streaming')
  if (names.length === 0) return <Dash />
  return (
    <ul className={classNames('flex flex-wrap gap-x-2.5 gap-y-1 text-soft', className)}>
      {names.map((name) => {
        const { word, icon: Icon } = CAPABILITY_WORDS[name]
        return (
          <li key={name} title={isShort ? word : undefined} className="flex items-center gap-1 whitespace-nowrap">
            <Icon aria-hidden className="size-3.5 shrink-0" />
            <span className={isShort ? 'md:sr-only' : undefined}>{word}</span>
          </li>
        )
      })}
    </ul>
  )
}

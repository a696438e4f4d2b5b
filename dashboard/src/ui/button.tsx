import { LoaderCircle, type LucideIcon } from 'lucide-react'
import { type ComponentPropsWithRef, type MouseEvent, type ReactElement, type ReactNode, useId } from 'react'
import { AppLink, type AppLinkProps } from './app-link.tsx'
import { classNames } from './class-names.ts'
import { Tooltip } from './tooltip.tsx'

export type ButtonVariant = 'primary' | 'secondary' | 'ghost' | 'danger'
export type ButtonSize = 'sm' | 'md'

interface ButtonLooks {
  readonly variant?: ButtonVariant | undefined
  readonly size?: ButtonSize | undefined
  readonly icon?: LucideIcon | undefined
}

/** There is no `disabled`: a button that cannot be pressed says why, for which it has to take the focus. */
export interface ButtonProps extends ButtonLooks, Omit<ComponentPropsWithRef<'button'>, 'disabled'> {
  /** What it started is under way: it keeps its width and the focus, and does nothing when pressed again. */
  readonly pending?: boolean | undefined
  /**
   * Why it cannot be pressed now: a sentence; `aria-describedby` names the element that shows it, if one does. Given as undefined where it can, so that it stays the same element.
   */
  readonly unavailable?: string | undefined
}

const BASE =
  'relative inline-flex shrink-0 items-center justify-center rounded-lg border font-medium whitespace-nowrap transition-colors select-none aria-disabled:cursor-default'

const VARIANTS: Readonly<Record<ButtonVariant, string>> = {
  primary: 'border-transparent bg-accent text-on-accent not-aria-disabled:hover:bg-accent-hover',
  secondary: 'border-strong/50 bg-surface text-ink not-aria-disabled:hover:bg-hover',
  ghost: 'border-transparent text-soft not-aria-disabled:hover:bg-hover not-aria-disabled:hover:text-ink',
  danger: 'border-transparent bg-bad text-on-accent not-aria-disabled:hover:bg-bad-hover',
}

const SIZES: Readonly<Record<ButtonSize, string>> = { sm: 'h-7 px-2.5 text-sm', md: 'h-9 px-3.5 text-base' }
const SQUARES: Readonly<Record<ButtonSize, string>> = { sm: 'size-7', md: 'size-9' }

export function Button(props: ButtonProps) {
  const { variant, size, icon, pending = false, unavailable, className, children, onClick, ...rest } = props
  const reasonId = useId()
  const isInert = pending || unavailable !== undefined
  const button = (
    <button
      type="button"
      {...rest}
      aria-busy={pending || undefined}
      aria-disabled={isInert || rest['aria-disabled']}
      aria-describedby={rest['aria-describedby'] ?? (unavailable === undefined ? undefined : reasonId)}
      onClick={isInert ? swallow : onClick}
      className={looksOf({ variant, size }, classNames(unavailable !== undefined && 'opacity-50', className))}
    >
      {pending && <Spinner className="absolute" />}
      <ButtonContent icon={icon} hidden={pending}>
        {children}
      </ButtonContent>
    </button>
  )
  if (!('unavailable' in props)) return button
  return (
    <Explained
      id={reasonId}
      reason={rest['aria-describedby'] === undefined ? unavailable : undefined}
      hint={unavailable}
    >
      {button}
    </Explained>
  )
}

export interface IconButtonProps extends Omit<ButtonProps, 'icon' | 'children' | 'aria-label'> {
  /** Its name, and its tooltip. */
  readonly label: string
  readonly icon: LucideIcon
}

export function IconButton({ label, icon: Icon, variant = 'ghost', size = 'md', className, ...rest }: IconButtonProps) {
  const { pending = false, unavailable, onClick, ...button } = rest
  const reasonId = useId()
  const isInert = pending || unavailable !== undefined
  const looks = classNames(BASE, VARIANTS[variant], SQUARES[size], unavailable !== undefined && 'opacity-50', className)
  return (
    <Explained id={reasonId} reason={unavailable} hint={unavailable === undefined ? label : `${label}: ${unavailable}`}>
      <button
        type="button"
        {...button}
        aria-label={label}
        aria-busy={pending || undefined}
        aria-disabled={isInert || undefined}
        aria-describedby={unavailable === undefined ? undefined : reasonId}
        onClick={isInert ? swallow : onClick}
        className={looks}
      >
        {pending ? <Spinner /> : <Icon aria-hidden className="size-4" />}
      </button>
    </Explained>
  )
}

interface ExplainedProps {
  readonly id: string
  /** Why the button cannot be pressed, for who does not see the hint. */
  readonly reason: string | undefined
  readonly hint: string | undefined
  readonly children: ReactElement
}

function Explained({ id, reason, hint, children }: ExplainedProps) {
  return (
    <>
      <Tooltip label={hint}>{children}</Tooltip>
      {reason !== undefined && (
        <span id={id} className="sr-only">
          {reason}
        </span>
      )}
    </>
  )
}

export interface LinkButtonProps extends ButtonLooks, AppLinkProps {}

/** A link within the dashboard that looks like a button. */
export function LinkButton({ variant, size, icon, className, children, ...link }: LinkButtonProps) {
  return (
    <AppLink {...link} className={looksOf({ variant, size }, className)}>
      <ButtonContent icon={icon}>{children}</ButtonContent>
    </AppLink>
  )
}

export function Spinner({ className }: { readonly className?: string }) {
  return <LoaderCircle aria-hidden className={classNames('size-4 animate-spin', className)} />
}

function ButtonContent({ icon: Icon, hidden, children }: ButtonContentProps) {
  return (
    <span className={classNames('inline-flex items-center gap-1.5', hidden === true && 'opacity-0')}>
      {Icon !== undefined && <Icon aria-hidden className="size-4" />}
      {children}
    </span>
  )
}

interface ButtonContentProps {
  readonly icon: LucideIcon | undefined
  readonly hidden?: boolean
  readonly children: ReactNode
}

function looksOf({ variant = 'secondary', size = 'md' }: ButtonLooks, className: string | undefined): string {
  return classNames(BASE, VARIANTS[variant], SIZES[size], className)
}

/** Also keeps a submit button from sending its form a second time. */
function swallow(event: MouseEvent): void {
  event.preventDefault()
}

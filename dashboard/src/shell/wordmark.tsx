/** Also says where one is when the navigation is folded away. */
export function Wordmark({ isShort = false }: { readonly isShort?: boolean }) {
  return (
    <span className="flex items-center gap-2 font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" className="size-6" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <path d="M7 10h18M16 10v14" className="stroke-on-accent" strokeWidth="4" strokeLinecap="round" />
        <circle cx="24" cy="22" r="3" className="fill-on-accent" opacity="0.6" />
      </svg>
      <span className={isShort ? 'hidden sm:inline' : undefined}>Turnpike</span>
    </span>
  )
}

import { Check } from 'lucide-react'
import { BELOW_MD, useMediaQuery } from '../../../ui/media-query.ts'
import { Card, CardTitle } from '../../../ui/page.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { nameOfRole, RIGHTS, ROLE_SUMMARIES, ROLES, type Role, rightsOfRole, sentenceOfRight } from './rights.ts'

/** The rights of accounts; those of the installation belong to no role. */
const ROWS = rightsOfRole('owner')

const COLUMNS: readonly Column<string>[] = [
  {
    id: 'right',
    header: 'May',
    primary: true,
    cell: (right) => <span className="block py-1 font-normal">{sentenceOfRight(right)}</span>,
  },
  ...ROLES.map((role) => ({
    id: role,
    header: nameOfRole(role),
    cell: (right: string) => <Has isThere={hasRight(role, right)} />,
  })),
]

/** By rights; where it is narrow, by roles. */
export function RolesTable() {
  const isNarrow = useMediaQuery(BELOW_MD)
  if (isNarrow) return <RoleCards />
  return <Table label="What each role may do" columns={COLUMNS} rows={ROWS} rowKey={(right) => right} />
}

function RoleCards() {
  return (
    <ul aria-label="What each role may do" className="flex flex-col gap-2">
      {ROLES.map((role) => (
        <li key={role}>
          <Card className="py-3">
            <CardTitle>{nameOfRole(role)}</CardTitle>
            <p className="text-soft">{ROLE_SUMMARIES[role]}</p>
            <ul className="mt-2 list-disc pl-5 text-sm text-ink marker:text-faint">
              {rightsOfRole(role).map((right) => (
                <li key={right}>{sentenceOfRight(right)}</li>
              ))}
            </ul>
          </Card>
        </li>
      ))}
    </ul>
  )
}

function hasRight(role: Role, right: string): boolean {
  return RIGHTS[right]?.roles.includes(role) === true
}

function Has({ isThere }: { readonly isThere: boolean }) {
  if (!isThere) {
    return (
      <span className="text-faint">
        <span aria-hidden>–</span>
        <span className="sr-only">No</span>
      </span>
    )
  }
  return (
    <span className="inline-flex items-center text-good">
      <Check aria-hidden className="size-4" />
      <span className="sr-only">Yes</span>
    </span>
  )
}

import { useMe } from '../../../api/me.ts'
import { type Member, nameOf } from './queries.ts'

/** A person by name and email address, or by the address alone where there is no name. */
export function PersonCell({ person }: { readonly person: Pick<Member, 'id' | 'name' | 'email'> }) {
  const { user } = useMe()
  const name = nameOf(person)
  return (
    <span className="block max-w-80 min-w-40 py-0.5">
      <span className="block truncate font-medium" title={name}>
        {name}
        {person.id === user.id && <span className="font-normal text-soft"> (you)</span>}
      </span>
      {person.name !== '' && (
        <span className="block truncate text-sm font-normal text-soft" title={person.email}>
          {person.email}
        </span>
      )}
    </span>
  )
}

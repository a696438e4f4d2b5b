/** Goes to what has an ID, or says that nothing has. */
import { useNavigate } from '@tanstack/react-router'
import { findId } from '../api/find-id.ts'
import { problemOf } from '../api/problem.ts'
import { toast } from '../ui/announcer.tsx'

export function useFindId(): (id: string) => Promise<void> {
  const navigate = useNavigate()
  return async (id) => {
    try {
      const found = await findId(id)
      if (found === undefined) toast(`Nothing has the ID ${id}.`, { tone: 'bad' })
      else await navigate(found)
    } catch (error) {
      toast(problemOf(error).message, { tone: 'bad' })
    }
  }
}

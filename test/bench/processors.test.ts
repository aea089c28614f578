import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { apart, processors } from '../../bench/processors.js'

const shared = processors()

t.test('the load generator has a processor of its own, and gives it back', { skip: shared === undefined && 'needs Linux, two processors and taskset' }, async (t) => {
  const children = [spawn('sleep', ['60']), spawn('sh', ['-c', 'sleep 60 & echo $!; wait'])] as const
  const pids = children.map(({ pid }) => pid as number) as [number, number]
  const [grandchild] = await once(children[1].stdout, 'data')
  t.teardown(() => {
    for (const child of children) child.kill()
    process.kill(Number(grandchild))
  })
  const [generator, server] = pids
  const all = allowed(server)
  const during = await apart(generator, server, async () => [...pids, Number(grandchild)].map(allowed))
  t.equal(during[0], shared?.generator)
  t.not(during[1], all)
  t.equal(during[2], during[1], 'a process that the server started goes with it')
  t.notOk(during[1]?.split(/[,-]/).includes(during[0] as string))
  t.strictSame([...pids, Number(grandchild)].map(allowed), [all, all, all])

  await t.rejects(apart(generator, server, async () => { throw new Error('a wrong answer') }), { message: 'a wrong answer' })
  t.equal(allowed(generator), all, 'also after a round that fails')
  t.equal(await apart(generator, undefined, async () => allowed(generator)), shared?.generator, 'a service that is not ours stays where it is')
})

function allowed (pid: number): string {
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] as string
}

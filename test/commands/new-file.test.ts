import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createFile } from '../../src/commands/targets/new-file.js'

const writeNew = async (path: string) => writeFileSync(path, 'new')

t.test('a file that another program creates meanwhile is not replaced', async t => {
  const folder = t.testdir()
  const path = join(folder, 'plants.ndjson')
  const creating = createFile(path, async partialPath => {
    await writeNew(partialPath)
    writeFileSync(path, 'of another')
  })
  await t.rejects(creating, { message: /plants\.ndjson already exists/ })
  t.equal(readFileSync(path, 'utf8'), 'of another')
  t.strictSame(readdirSync(folder), ['plants.ndjson'])
})

t.test('the partial files that killed processes left for a name are removed, and no other file', async t => {
  const { pid: ended } = spawnSync('true')
  const running = process.ppid
  const abandoned = [ended, process.pid].flatMap(pid => [`.b.db.${pid}-0123abcd.partial`, `.b.db.${pid}-0123abcd.partial-journal`])
  const others = [
    `.b.db.${running}-0123abcd.partial`, `.b.db.1.${ended}-0123abcd.partial`, `.a.b.db.${ended}-0123abcd.partial`,
    `.b.db.${ended}-0123abcd.partial.old`, 'b.db-journal', '.b.db'
  ]
  const folder = t.testdir(Object.fromEntries([...abandoned, ...others].map(name => [name, ''])))
  await createFile(join(folder, 'b.db'), async path => {
    t.notOk(abandoned.some(name => existsSync(join(folder, name))), 'before a long copy, which needs the space')
    await writeNew(path)
  })
  t.strictSame(readdirSync(folder).sort(), [...others, 'b.db'].sort())
})

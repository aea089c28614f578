import processOnSpawn from 'process-on-spawn'

// tap adds a loader to the processes that a test starts, and to all that those start: it costs each of them 0.2 to 1 s,
// and makes some signals fatal. `.taprc` loads this module after it, before each test file, and takes it away again.
processOnSpawn.addListener((child: { env: NodeJS.ProcessEnv }) => {
  const { NODE_OPTIONS = '', ...others } = child.env
  const options = NODE_OPTIONS.split(' ').filter(option => !option.includes('@tapjs/processinfo')).join(' ')
  child.env = options === '' ? others : { ...others, NODE_OPTIONS: options }
})

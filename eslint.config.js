import neostandard from 'neostandard'

export default neostandard({
  ts: true,
  ignores: ['dist', 'build', '.tap', 'node_modules', 'bench/results']
})

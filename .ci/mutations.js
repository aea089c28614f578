// The small changes that `mutants.js` tries: of operators, conditions and literals, and statements left out.
import { readFileSync } from 'node:fs'
import ts from 'typescript'

const OPERATORS = new Map([
  ['<', '<='], ['<=', '<'], ['>', '>='], ['>=', '>'], ['===', '!=='], ['!==', '==='],
  ['&&', '||'], ['||', '&&'], ['??', '&&'],
  ['+', '-'], ['-', '+'], ['*', '/'], ['/', '*'], ['%', '*'], ['+=', '-='], ['-=', '+=']
])
const CALLS = new Map([
  ['some', 'every'], ['every', 'some'], ['min', 'max'], ['max', 'min'], ['shift', 'pop'], ['push', 'unshift']
])

/** All changes of a source: each with its `file`, the whole `text`, the `original`, a `diff`, and an `id`. */
export function mutantsOf (file) {
  const original = readFileSync(file, 'utf8')
  const source = ts.createSourceFile(file, original, ts.ScriptTarget.Latest, true)
  const mutants = []

  function add (node, replacement) {
    const [start, end] = [node.getStart(source), node.getEnd()]
    if (original.slice(start, end) === replacement) return
    const text = original.slice(0, start) + replacement + original.slice(end)
    const { line } = source.getLineAndCharacterOfPosition(start)
    const lines = original.slice(start, end).split('\n').length
    const before = original.split('\n').slice(line, line + lines)
    const after = text.split('\n').slice(line, line + replacement.split('\n').length)
    const changes = [...before.map(one => `- ${one}\n`), ...after.map(one => `+ ${one}\n`)]
    const diff = `${file}:${line + 1}\n${changes.join('')}`
    mutants.push({ file, text, original, diff, id: `${file} ${start} ${end} ${replacement}` })
  }

  function visit (node) {
    if (ts.isImportDeclaration(node) || isType(node)) return
    // The wording of messages binds nobody.
    if (ts.isNewExpression(node) && /Error$|^Plant|^Store/.test(node.expression.getText(source))) return
    for (const [changed, replacement] of changesOf(node, source)) add(changed, replacement)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return mutants
}

function isType (node) {
  return ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)
}

/** Pairs of a node and what replaces it. */
function * changesOf (node, source) {
  if (ts.isBinaryExpression(node)) {
    const operator = OPERATORS.get(node.operatorToken.getText(source))
    if (operator !== undefined) yield [node.operatorToken, operator]
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    yield [node, `(${node.operand.getText(source)})`]
  }
  if (ts.isPostfixUnaryExpression(node)) {
    yield [node, node.getText(source).replace(/(\+\+|--)$/, sign => sign === '++' ? '--' : '++')]
  }

  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) {
    yield [node.expression, 'false']
    if (ts.isIfStatement(node)) yield [node.expression, 'true']
  }
  if (ts.isConditionalExpression(node)) {
    yield [node.condition, 'true']
    yield [node.condition, 'false']
  }

  if (node.kind === ts.SyntaxKind.TrueKeyword) yield [node, 'false']
  if (node.kind === ts.SyntaxKind.FalseKeyword) yield [node, 'true']
  if (ts.isNumericLiteral(node)) yield [node, node.text === '0' ? '1' : '0']
  const isName = ts.isStringLiteral(node) && !/ /.test(node.text)
  if (isName && !ts.isPropertyAssignment(node.parent)) yield [node, "'mutant'"]
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name } = node.expression
    const replacement = CALLS.get(name.text)
    if (replacement !== undefined) yield [name, replacement]
  }

  if (ts.isExpressionStatement(node) || ts.isThrowStatement(node)) yield [node, ';']
  const isReturn = ts.isReturnStatement(node) && node.expression !== undefined
  if (isReturn && node.expression.getText(source) !== 'undefined') yield [node, 'return undefined as never']
}

/** The JavaScript of a source. */
export function transpiled (text) {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true }
  return ts.transpileModule(text, { compilerOptions }).outputText
}

"""Prints a Python module's list of constructor calls as JSON, without running the module: python-literals.py FILE NAME."""
import ast
import json
import sys


def plain(node):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [plain(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {plain(key): plain(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.UnaryOp):
        return -plain(node.operand)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    arguments = [plain(argument) for argument in node.args]
    if name == "Decimal":
        return float(arguments[0])
    fields = {keyword.arg: plain(keyword.value) for keyword in node.keywords}
    return {**fields, "args": arguments} if arguments else fields


tree = ast.parse(open(sys.argv[1], encoding="utf-8").read())
for statement in tree.body:
    if isinstance(statement, ast.AnnAssign) and statement.target.id == sys.argv[2]:
        json.dump(plain(statement.value), sys.stdout)

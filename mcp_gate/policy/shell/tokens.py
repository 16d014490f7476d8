"""The characters that mean something in a shell line, and runs of those that do not."""

import re

DEEPEST = 40
BLANKS = " \t"
OPERATOR_CHARACTERS = frozenset(";&|()<>")
BREAKS = frozenset(" \t\n") | OPERATOR_CHARACTERS

PLAIN = re.compile(r"[^\s\\'\"$`;&|()<>\0]+|[^\S \t\n]+")
DOUBLE_PLAIN = re.compile(r"[^\\\"$`\0]+")
BODY_PLAIN = re.compile(r"[^\\$`\0]+")
OPERAND_PLAIN = re.compile(r"[^\\'\"$`{}<>\n\0]+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
BRACED_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
OPERATION = re.compile(r":?[-=?+]|%%?|##?|//?[#%]?|\^\^?|,,?|@[A-Za-z]|:|\[(?:[@*]|[0-9]+)\]")
NUMBERS = re.compile(r"[0-9\s+*/%<>=!&|^~?:,()-]+")
SLICE = re.compile(r"[A-Za-z0-9_ :-]*")

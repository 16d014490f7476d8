"""Options, operands and programs that an allow rule must spell (choice P3)."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_gate.policy.shell.options import KINDS, TABLE, risks
from mcp_gate.policy.shell.programs import NOT_KNOWN, NOT_UNDERSTOOD, awk_risk, sed_risk
from mcp_gate.policy.shell.syntax import UNKNOWN

# A line, the words of it that must be spelled, and the reason for the first.
SPELLED = [
    ("sort -o out a", "-o out", "`-o` of `sort` writes a file"),
    ("/usr/bin/sort -o out a", "-o out", "`-o` of `sort` writes a file"),
    ("sort -oout a", "-oout", "`-o` of `sort` writes a file"),
    ("sort -ro out a", "-ro out", "`-o` of `sort` writes a file"),
    ("sort --output=out a", "--output=out", "`--output` of `sort` writes a file"),
    ("sort --outp=x a.txt", "--outp=x", "`--output` of `sort` writes a file"),
    ("sort --o x a.txt", "--o x", "`--output` of `sort` writes a file"),
    ("sort a b -o out", "-o out", "`-o` of `sort` writes a file"),
    ("sort -t -o out", "-o out", "`-o` of `sort` writes a file"),
    ("sort -t -- -o out", "-o out", "`-o` of `sort` writes a file"),
    ("sort --unknown -- -o out", "-o out", "`-o` of `sort` writes a file"),
    ("sort --compress-program=./x a", "--compress-program=./x", "`--compress-program` of `sort` runs a program"),
    ("sed -i s/a/b/ a.txt", "-i", "`-i` of `sed` writes a file"),
    ("sed -ni s/a/b/p a.txt", "-ni", "`-i` of `sed` writes a file"),
    ("sed -n -i.bak p a.txt", "-i.bak", "`-i` of `sed` writes a file"),
    ("sed p a.txt -i", "-i", "`-i` of `sed` writes a file"),
    ("sed --in-place=.bak s/a/b/ a.txt", "--in-place=.bak", "`--in-place` of `sed` writes a file"),
    ("sed -f x.sed a", "-f x.sed", "`-f` of `sed` loads code or settings"),
    ("sed 's/a/b/w out.txt' a.txt", "'s/a/b/w out.txt'", "in a program of `sed`, `w` writes a file"),
    ("sed '1e id' a.txt", "'1e id'", "in a program of `sed`, `e` runs a program"),
    ("sed -n '/x/w out' a.txt", "'/x/w out'", "in a program of `sed`, `w` writes a file"),
    ("sed -n -e p -e 'w out' a.txt", "'w out'", "in a program of `sed`, `w` writes a file"),
    ("sed '-ew out' a.txt", "'-ew out'", "in a program of `sed`, `w` writes a file"),
    ("sed --expr='w out' a.txt", "--expr='w out'", "in a program of `sed`, `w` writes a file"),
    ("sed -i '' 'w out' a", "-i 'w out'", "`-i` of `sed` writes a file"),
    ("awk 'BEGIN{system(\"id\")}'", "'BEGIN{system(\"id\")}'", "in a program of `awk`, `system` runs a program"),
    ("awk -F : '{print > \"f\"}' a", "'{print > \"f\"}'", "in a program of `awk`, `>` writes a file"),
    ("gawk --lint '{print > \"f\"}' a", "'{print > \"f\"}'", "in a program of `gawk`, `>` writes a file"),
    ("awk -f x.awk a", "-f x.awk", "`-f` of `awk` loads code or settings"),
    ("gawk -i inplace 1 a", "-i inplace", "`-i` of `gawk` loads code or settings"),
    ("gawk -e 'BEGIN{system(1)}'", "'BEGIN{system(1)}'", "in a program of `gawk`, `system` runs a program"),
    ("find . -name '*.tmp' -delete", "-delete", "`-delete` of `find` changes or deletes what is there"),
    ("find . -fprint out.txt", "-fprint out.txt", "`-fprint` of `find` writes a file"),
    ("find . -exec rm {} ;", "-exec", "`-exec` of `find` runs a program"),
    ("fd -x cat", "-x cat", "`-x` of `fd` runs a program"),
    ("fd -Hx rm -rf", "-Hx rm -rf", "`-x` of `fd` runs a program"),
    ("rg --pre ./x foo", "--pre ./x", "`--pre` of `rg` runs a program"),
    ("rg -nz foo", "-nz", "`-z` of `rg` runs a program"),
    ("tar -xf a.tar --checkpoint=1 --checkpoint-action=exec=id", "--checkpoint-action=exec=id", None),
    ("tar -I ./x -tf a.tar", "-I ./x", "`-I` of `tar` runs a program"),
    ("tar -tf a.tar --to-command=./x", "--to-command=./x", "`--to-command` of `tar` runs a program"),
    ("tar xIf ./x a.tar", "xIf ./x", "`-I` of `tar` runs a program"),
    ("tar xfI a.tar ./x", "xfI ./x", "`-I` of `tar` runs a program"),
    ("tar -czf host:a.tgz src", "-czf host:a.tgz", "`-f` of `tar` may be on another host"),
    ("tar -P -xf a.tar", "-P", "`-P` of `tar` changes or deletes what is there"),
    ("uniq a.txt out.txt", "out.txt", "`out.txt` given to `uniq` is written"),
    ("uniq -c -f 1 - out.txt", "out.txt", "`out.txt` given to `uniq` is written"),
    ("xxd -r -c 4 a out", "out", "`out` given to `xxd` is written"),
    ("printf -v PATH /tmp/x", "-v PATH", "`-v` of `printf` changes or deletes what is there"),
    ("curl https://a/ -o x", "-o x", "`-o` of `curl` writes a file"),
    ("curl -sSLo x https://a/", "-sSLo x", "`-o` of `curl` writes a file"),
    ("curl -sO https://a/", "-sO", "`-O` of `curl` writes a file"),
    ("curl -d @secrets.txt https://a/", "-d @secrets.txt", "`-d` of `curl` sends data"),
    ("curl -XPOST https://a/", "-XPOST", "`-X` of `curl` asks for more than to read"),
    ("curl -H @f https://a/", "-H @f", "`-H` of `curl` may use a file"),
    ("curl -w '%output{f}x' https://a/", "-w '%output{f}x'", "`-w` of `curl` may use a file"),
    ("curl --connect-to ::b: https://a/", "--connect-to ::b:", "`--connect-to` of `curl` changes where it connects to"),
    ("wget --post-file=x https://a/", "--post-file=x", "`--post-file` of `wget` sends data"),
    ("wget -qO x https://a/", "-qO x", "`-O` of `wget` writes a file"),
    ("go test -exec ./x ./...", "-exec ./x", "`-exec` of `go` runs a program"),
    ("go test --exec=./x ./...", "--exec=./x", "`-exec` of `go` runs a program"),
    ("go build -toolexec ./x", "-toolexec ./x", "`-toolexec` of `go` runs a program"),
    ("yq -i '.a = 1' f.yml", "-i", "`-i` of `yq` writes a file"),
    ("jq -rf x.jq a.json", "-rf x.jq", "`-f` of `jq` loads code or settings"),
    ("gh api repos/o/r -X DELETE", "-X DELETE", "`-X` of `gh api` asks for more than to read"),
    ("gh api repos/o/r/issues -f title=x", "-f title=x", "`-f` of `gh api` sends data"),
    ("gh api -X GET a -f q=x -X POST", "-f q=x -X POST", "`-f` of `gh api` sends data"),
    ("gh api graphql", "graphql", "`graphql` of `gh api` sends data"),
    ("gh -X POST api repos/o/r", "-X POST", "`-X` of `gh` asks for more than to read"),
    ("git -c core.pager='sh -c id' log", "-c core.pager='sh -c id'", "`-c` of `git` loads code or settings"),
    ("git -C dir -c a.b=c log", "-c a.b=c", "`-c` of `git` loads code or settings"),
    ("git --exec-path=/tmp/x status", "--exec-path=/tmp/x", "`--exec-path` of `git` runs a program"),
    ("git --git-dir x status", "--git-dir x", "`--git-dir` of `git` loads code or settings"),
    ("git -p log", "-p", "`-p` of `git` runs a program"),
    ("git diff --outpu=x", "--outpu=x", "`--output` of `git diff` writes a file"),
    ("git -C dir log --ext-diff", "--ext-diff", "`--ext-diff` of `git log` runs a program"),
    ("git grep -nO./x foo", "-nO./x", "`-O` of `git grep` runs a program"),
    ("git grep --open=./x foo", "--open=./x", "`--open-files-in-pager` of `git grep` runs a program"),
    ("git clone ext::'sh -c id'", "ext::'sh -c id'", "`ext::` given to `git` runs a program"),
    ("git clone -u ./x host:repo", "-u ./x", "`-u` of `git clone` runs a program"),
    ("git fetch --upload-pack ./x host", "--upload-pack ./x", "`--upload-pack` of `git fetch` runs a program"),
    ("git branch -D old", "-D", "`-D` of `git branch` changes or deletes what is there"),
    ("git branch --del old", "--del", "`--delete` of `git branch` changes or deletes what is there"),
    ("git tag -d v1", "-d", "`-d` of `git tag` changes or deletes what is there"),
    ("git stash drop", "drop", "`drop` of `git stash` changes or deletes what is there"),
    ("git remote -v add a b", "add", "`add` of `git remote` changes or deletes what is there"),
    ("git submodule foreach ls", "foreach", "`foreach` of `git submodule` runs a program"),
    ("git rebase --exec ls main", "--exec ls", "`--exec` of `git rebase` runs a program"),
    ("git config core.pager ./x", "./x", "`./x` given to `git config` changes settings"),
    ("git config --unset core.pager", "--unset", None),
    ("python -c 'print(1)'", "-c", "`-c` of `python` runs code"),
    ("python3.11 -Bc 'print(1)' -o x", "-Bc", "`-c` of `python3.11` runs code"),
    ("python -m pytest -p evil", "-p evil", "`-p` of `pytest` loads code or settings"),
    ("python -m json.tool a b", "b", "`b` given to `json.tool` is written"),
    ("node --no-warnings -e 1", "-e", "`-e` of `node` runs code"),
    ("node --some-option value -e 1", "-e", "`-e` of `node` runs code"),
    ("node -r ./x a.js", "-r ./x", "`-r` of `node` loads code or settings"),
    ("perl -0777 -lne print a", "-lne", "`-e` of `perl` runs code"),
    ("perl -pi.bak x.pl a", "-pi.bak", "`-i` of `perl` writes a file"),
    ("ruby -e 1", "-e", "`-e` of `ruby` runs code"),
    ("php -r 1", "-r", "`-r` of `php` runs code"),
    ("deno eval 1", "eval", "`eval` of `deno` runs code"),
    ("make SHELL=./x test", "SHELL=./x", "`SHELL=./x` given to `make` sets a variable"),
    ("make SHELL= test", "SHELL=", "`SHELL=` given to `make` sets a variable"),
    ("make 'X!=id' test", "X!=id", "`X!=id` given to `make` sets a variable"),
    ("make --eval x", "--eval x", "`--eval` of `make` loads code or settings"),
    ("date -s tomorrow", "-s tomorrow", "`-s` of `date` changes or deletes what is there"),
    ("date 01010000", "01010000", "`01010000` given to `date` sets the clock"),
    ("hostname evil", "evil", "`evil` given to `hostname` is set"),
    ("man -P ./x ls", "-P ./x", "`-P` of `man` runs a program"),
    ("less +!id a", "+!id", "`+!id` given to `less` is a command"),
    ("sqlite3 a.db '.shell id'", "'.shell id'", "`.shell id` given to `sqlite3` does more than a query"),
    ("sqlite3 -cmd .x a.db", "-cmd .x", "`-cmd` of `sqlite3` loads code or settings"),
    ("sqlite3 a.db 'select WriteFile(1, 2)'", "'select WriteFile(1, 2)'", None),
    ("rsync -avze ./x a b", "-avze ./x", "`-e` of `rsync` runs a program"),
    ("rsync -a --delete a b", "--delete", "`--delete` of `rsync` changes or deletes what is there"),
    ("scp -o ProxyCommand=x a b", "-o ProxyCommand=x", "`-o` of `scp` runs a program"),
    ("zip -TT ./x a.zip b", "-TT ./x", "`-TT` of `zip` runs a program"),
    ("tree -o out", "-o out", "`-o` of `tree` writes a file"),
    ("split --filter=./x a", "--filter=./x", "`--filter` of `split` runs a program"),
    ("shuf -o out a", "-o out", "`-o` of `shuf` writes a file"),
    ("dd if=a of=b", "of=b", "`of=b` given to `dd` writes a file"),
    ("pytest -p evil", "-p evil", "`-p` of `pytest` loads code or settings"),
    ("pytest -qc x.ini", "-qc x.ini", "`-c` of `pytest` loads code or settings"),
    ("pytest --cov-report=xml:f", "--cov-report=xml:f", "`--cov-report` of `pytest` writes a file"),
    ("ruff check --fix", "--fix", "`--fix` of `ruff` writes a file"),
    ("mypy --config-file x src", "--config-file x", "`--config-file` of `mypy` loads code or settings"),
    ("npm run x --script-shell=./x", "--script-shell=./x", "`-script-shell` of `npm` runs a program"),
    ("npm run x -script-sh ./x", "-script-sh ./x", "`-script-shell` of `npm` runs a program"),
    ("mvn -gs x test", "-gs x", "`-gs` of `mvn` loads code or settings"),
    ("./gradlew -I x test", "-I x", "`-I` of `gradlew` loads code or settings"),
    ("jdeps --generate-module-info out a.jar", "--generate-module-info out", None),
]

HARMLESS = """
sort -k2,2n -t, a.txt
sort -t o a.txt
sort -to a.txt
sort --key=2 --reverse a.txt
sort -- -o a.txt
sort -r -- -o a.txt
sort -o /dev/null a.txt
sort --output=/dev/null a.txt
sort --help
sed -e 's/i/o/g' -e '/^$/d' a.txt
sed 's/\\/usr/\\/opt/g; 5q' a.txt
sed -n '1,40p' src/app.py
sed -E -n p -- -i
awk '$3 == "x" {print $1; print $2}' f.txt
awk -F: -v x=1 '{print x}' a -f
find . -name delete -o -name exec
find src -maxdepth 2 -newer setup.py -print0
find . -fprint /dev/null
fd -e py -t f foo
rg -n --glob '*.py' --pretty 'foo(bar)'
git log --oneline --output-indicator-new=+
git diff --text HEAD~1..HEAD -- src/app.py
git diff --stat -- --output=x
git --no-pager -C dir log -p
git commit -m x --amend -n
git push -u origin feature
git grep -n foo
git branch -vv --contains main
git branch new
git stash list
git remote -v
git config --get a.b c
git config a.b
git status -c
tar -czf out.tgz src
tar xzf a.tar.gz -C dir
tar -czf ./a:b.tgz src
uniq -c a.txt
uniq -f 1 a.txt
uniq a /dev/stdout
printf %s -v
printf -- -v
gh api repos/o/r/pulls
gh api -X GET search/issues -f q=x
gh pr list -X x
curl -sS -I https://docs.python.org/3/
curl -s https://docs.python.org/3/ -o /dev/null
curl -X GET -H 'Accept: x' -w '%{http_code}' -o - https://a/
curl --head https://a/
wget -qO- https://a/
go test -run x ./...
go build -o /dev/null
yq -o json . a.yml
jq -r .a a.json
python a.py -c x
python -m pytest -q tests
python -m http.server -c
node a.js -e x
perl a.pl -e
make -j4 V=1 DEBUG=yes build
date +%F
date -d yesterday +%F
date -r a.txt
hostname -f
less -N a
sqlite3 a.db 'select credit from b'
sqlite3 a.db .tables
dd if=a of=/dev/null
pytest -q -p no:cacheprovider --co --cov=x --cov-report term-missing tests
ruff check --output-format json
mypy --strict src
npm test -- --script-shell=x
npm test -s
mvn -nsu -ntp -q -Dtest=x test
gradle -q test -x lint
grep -o x a
cat -o a
ls
""".strip().splitlines()


def spelled(line: str) -> list[str]:
    words = shlex.split(line)
    return [words[at] for at in sorted(risks(words).spelled)]


@pytest.mark.parametrize(("line", "words", "why"), SPELLED, ids=[line for line, _, _ in SPELLED])
def test_what_does_more_than_to_read_must_be_spelled(line: str, words: str, why: str | None) -> None:
    assert spelled(line) == shlex.split(words)
    found = risks(shlex.split(line))
    assert found.why if why is None else found.why == why


@pytest.mark.parametrize("line", HARMLESS)
def test_what_only_reads_need_not_be_spelled(line: str) -> None:
    found = risks(shlex.split(line))
    assert (found.spelled, found.why) == (frozenset(), "")


@pytest.mark.parametrize(
    ("words", "is_open", "at"),
    [
        (["sort", UNKNOWN], True, set()),
        (["sort", f"-{UNKNOWN}o"], True, set()),  # no guess at what follows
        (["sort", f"-o{UNKNOWN}"], True, {1}),
        (["sort", "-o", UNKNOWN], True, {1, 2}),
        (["sort", f"--out{UNKNOWN}"], True, set()),
        (["sort", f"--output={UNKNOWN}"], True, {1}),
        (["sort", "--", UNKNOWN], False, set()),
        (["sort", UNKNOWN, "--", "a"], True, set()),
        (["printf", "%s", UNKNOWN], False, set()),
        (["printf", UNKNOWN], True, set()),
        (["sed", UNKNOWN, "a"], True, {1}),
        (["sed", f"s/a/{UNKNOWN}/", "a"], True, {1}),
        (["awk", "{print}", UNKNOWN], False, set()),
        (["python", "-m", "pytest", UNKNOWN], True, set()),
        (["python", "a.py", UNKNOWN], False, set()),
        (["git", UNKNOWN], True, set()),
        (["git", "add", UNKNOWN], False, set()),
        (["git", UNKNOWN, "add"], True, set()),
        (["git", "diff", UNKNOWN], True, set()),
        (["git", "diff", "--stat", "--", UNKNOWN], False, set()),
        (["make", f"X{UNKNOWN}"], True, {1}),
        (["sqlite3", "a.db", f"select '{UNKNOWN}'"], True, {2}),
        (["tar", "-xf", f"a{UNKNOWN}"], True, {1, 2}),
        (["grep", UNKNOWN], False, set()),
        ([UNKNOWN, "-o"], False, set()),
        ([], False, set()),
    ],
)
def test_a_word_that_is_not_known_is_no_option_but_could_be_one(words: list[str], is_open: bool, at: set[int]) -> None:
    found = risks(words)
    assert (found.open, set(found.spelled)) == (is_open, at)


def test_every_row_of_the_table_names_kinds_that_there_are() -> None:
    for name, syntax in TABLE.items():
        kinds = {option.kind for option in syntax.options.values()} | set(syntax.verbs.values())
        assert kinds <= {"", *KINDS}, name
        assert syntax.traits <= {"words", "loose", "early", "bundle"}, name
        assert syntax.risky, name


@pytest.mark.parametrize(
    ("script", "risk"),
    [
        ("", ""),
        ("s/a/b/gI2p; y/abc/xyz/; 3,$d", ""),
        ("/a/,/b/ !{s|x|y|;p}", ""),
        (":a;N;$!ba;s/\\n/ /g", ""),
        ("\\,a/b,Id; 0~3p; /a/,+2d; 2q5; l 7; =", ""),
        ("s/[^/]/x/", NOT_UNDERSTOOD),  # where the delimiter in brackets ends the expression, `x/` follows
        ("s/[[:space:]]*$//;s/[^,\\/]//", ""),
        ("s/a/[/;p", ""),
        ("a\\\nw out\np", ""),
        ("a w out", ""),
        ("a text\nw out", "`w` writes a file"),
        ("a text\\\\\nw out", "`w` writes a file"),
        ("a text\\", NOT_UNDERSTOOD),
        ("r other; w out", "`w` writes a file"),
        ("r other", ""),
        ("# w out\np", ""),
        ("# x\nw out", "`w` writes a file"),
        ("{p;w out\n}", "`w` writes a file"),
        ("W out", "`W` writes a file"),
        ("e", "`e` runs a program"),
        ("s/a/b/e", "`e` runs a program"),
        ("s/a/b/gw out", "`w` writes a file"),
        ("s,a\\,b,c,w out", "`w` writes a file"),
        ("s/a\\/w b/c/", ""),
        ("sxaxbx", NOT_UNDERSTOOD),
        ("s/a/b", NOT_UNDERSTOOD),
        ("s/a/b\nw out", NOT_UNDERSTOOD),
        ("y/a/b/w", NOT_UNDERSTOOD),
        ("pw out", NOT_UNDERSTOOD),
        ("1,p", NOT_UNDERSTOOD),
        ("5", NOT_UNDERSTOOD),
        ("M", NOT_UNDERSTOOD),
        ("/[/]/w out", NOT_UNDERSTOOD),
        (f"s/{UNKNOWN}//", NOT_KNOWN),
    ],
)
def test_a_sed_script_only_reads_and_prints(script: str, risk: str) -> None:
    assert sed_risk(script) == risk


@pytest.mark.parametrize(
    ("program", "risk"),
    [
        ("", ""),
        ("{print $1, $NF}", ""),
        ("$3 > 5 {print; n++} END {print n / NR}", ""),
        ("{x = a > b; if (a > b) print c}", ""),
        ("{print (a > b)}", ""),
        ("{print a > b}", "`>` writes a file"),
        ("{print (a)(b) > c}", "`>` writes a file"),
        ("{print a,\n b > c}", "`>` writes a file"),
        ("{print a, # x\n b > c}", "`>` writes a file"),
        ("{print a \\\n > c}", "`>` writes a file"),
        ("{print a\nif (b > c) d}", ""),
        ("{print a; b > c}", ""),
        ("{print a >> b}", "`>>` writes a file"),
        ("{for (print a > b;;) c}", "`>` writes a file"),
        ('{print | "sh"}', "`|` runs a program"),
        ('{"id" | getline}', "`|` runs a program"),
        ('{print |& "sh"}', "`|&` runs a program"),
        ("a || b {getline line < FILENAME; print ENVIRON[line]}", ""),
        ('BEGIN {system ("id")}', "`system` runs a program"),
        ("{awk::system(1)}", "`system` runs a program"),
        ('BEGIN {print "system(1) | > @"} # system', ""),
        ('/system|>/ && $2 ~ /[|>"]/', ""),
        ('{print "a\\"b"; system(1)}', "`system` runs a program"),
        ('@load "x"', "`@` loads code, or calls what only a variable names"),
        ("{@f()}", "`@` loads code, or calls what only a variable names"),
        ("{print ($1 + $2) / 2}", ""),
        ('{if (x) /"/; system(1); y = "/"}', NOT_UNDERSTOOD),
        ("{a = b / c; d = e / f}", ""),
        ("{a = b[1] / c; system(1); d / e}", "`system` runs a program"),
        ("{a++ / 2; system(1) / 3}", "`system` runs a program"),
        ("/[/]/", NOT_UNDERSTOOD),
        ("/[^\\/]+/ {print}", ""),
        ("/a", NOT_UNDERSTOOD),
        ('"a', NOT_UNDERSTOOD),
        ("`id`", NOT_UNDERSTOOD),
        (")", NOT_UNDERSTOOD),
        (f"{{print {UNKNOWN}}}", NOT_KNOWN),
    ],
)
def test_an_awk_program_only_reads_and_prints(program: str, risk: str) -> None:
    assert awk_risk(program) == risk


PIECES = [
    "-",
    "--",
    "o",
    "i",
    "x",
    "=",
    "e",
    "f",
    "c",
    "\n",
    "/",
    "[",
    "]",
    "\\",
    "|",
    ">",
    '"',
    "(",
    ")",
    "w",
    UNKNOWN,
]
COMMANDS = st.sampled_from(sorted(TABLE)).map(str.split)
ARGUMENTS = st.lists(
    st.sampled_from(sorted({name for syntax in TABLE.values() for name in [*syntax.options, *syntax.verbs]}))
    | st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
    | st.text(max_size=6),
    max_size=8,
)


@given(COMMANDS | st.lists(st.text(max_size=5), max_size=2), ARGUMENTS)
def test_any_words_have_an_answer_whose_places_are_in_them(command: list[str], arguments: list[str]) -> None:
    words = command + arguments
    found = risks(words)
    assert found.spelled <= set(range(1, len(words)))
    assert bool(found.spelled) == bool(found.why)
    assert UNKNOWN not in found.why


@given(st.lists(st.sampled_from(PIECES) | st.characters(), max_size=30).map("".join))
def test_any_program_has_an_answer(program: str) -> None:
    assert sed_risk(program + UNKNOWN) == awk_risk(program + UNKNOWN) == NOT_KNOWN
    assert isinstance(sed_risk(program), str)
    assert isinstance(awk_risk(program), str)


@given(ARGUMENTS, st.sampled_from(["-o", "--output", "--out"]))
def test_an_option_that_writes_is_found_whatever_stands_before_it(before: list[str], option: str) -> None:
    words = ["sort", *(word for word in before if word != "--"), option, "out"]
    assert len(words) - 2 in risks(words).spelled


@pytest.mark.parametrize("piece", ["s/a/b/;", "p\n", "[", "\\", "/", "(/a)", "print", '"a"', "-o", "{", ")/\n", "1 "])
def test_long_programs_and_words_are_read_in_linear_time(piece: str) -> None:
    """A hundred thousand characters: were a step of it quadratic, this would take minutes."""
    text = piece * (100_000 // len(piece))
    assert isinstance(sed_risk(text), str)
    assert isinstance(awk_risk(text), str)
    assert risks(["sed", "-n", text, *["-e", "p"] * 1000]).open
    assert risks(["tar", text]).open
    assert risks(["git", f"-{text}", "log", *[text] * 10]).open

# SPDX-License-Identifier: Apache-2.0
"""The house rules that a machine can hold; CONTRIBUTING.md says why each is there.

The lists of exceptions may only shrink: an entry that is needed no more fails its test.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.contributions import REGISTRY
from tacit.solvers import SOLVERS, UNPROTECTED

ROOT = Path(__file__).resolve().parents[2]
MADE = {"__pycache__", "build", "dist"}
SECRETIVE = re.compile(r"(^|/)\.(?!ci/|gitignore)")


def files(*folders: str) -> list[str]:
    """Every file of the repository below these folders, as a path from its root."""
    places = [ROOT / folder for folder in folders]
    found = [path for place in places if place.is_dir() for path in place.rglob("*")]
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path in found
        if path.is_file() and not MADE & set(path.relative_to(ROOT).parts)
    )


def python(*folders: str) -> list[str]:
    return [name for name in files(*folders) if name.endswith((".py", ".pyi"))]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


FOLDERS = ("src", "tests", "bench", "cpp", "docs", "proofs", "examples", ".ci")
TOP = sorted(
    path.name for path in ROOT.iterdir() if path.is_file() and not SECRETIVE.search(path.name)
)
ALL = [name for name in [*TOP, *files(*FOLDERS)] if not name.endswith((".so", ".pyd"))]
PAGES = [name for name in ALL if name.endswith(".md")]


# --- source files --------------------------------------------------------------------------------

LONGEST_MODULE, LONGEST_FUNCTION, MOST_ARGUMENTS = 300, 40, 6

# Each with the reason why it is better as it is.
LONG_FUNCTIONS = {
    "bench/kernels/sums.py:row_kernels": "a table: every kernel with its work",
}
MANY_ARGUMENTS = {
    "src/tacit/accounting/release.py:share": "the fields of a release",
    "src/tacit/accounting/statement.py:of": "each is a separate fact of one run",
    "src/tacit/data/read.py:read": "the keywords of the front door",
    "src/tacit/kernels/_kernels.pyi:sgd_tasks": "a kernel takes flat arrays",
    "src/tacit/kernels/_kernels.pyi:solve_users": "a kernel takes flat arrays",
    "src/tacit/kernels/_kernels.pyi:replay_users": "a kernel takes flat arrays",
    "src/tacit/kernels/reference/sgd.py:sgd_tasks": "the twin of that kernel",
    "src/tacit/kernels/_kernels.pyi:descend_users": "a kernel takes flat arrays",
    "src/tacit/kernels/reference/descend.py:descend_users": "the twin of that kernel",
    "src/tacit/kernels/reference/solve.py:solve_users": "the twin of that kernel",
    "src/tacit/kernels/reference/replay.py:replay_users": "the twin of that kernel",
    "src/tacit/serving/recommend_file.py:recommend_file": "the keywords of a front door",
    "src/tacit/serving/recommend_frame.py:recommend_frame": "the same",
}


def functions(name: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(ast.parse(text(name))) if isinstance(node, kinds)]


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, without its docstring; the signature has a limit of its own."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def arguments_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return sum(each.arg not in {"self", "cls"} for each in given)


def test_every_source_file_starts_with_its_licence():
    sources = [n for n in ALL if n.endswith((".py", ".pyi", ".cpp", ".hpp", ".h"))]
    assert len(sources) > 100
    lines = {name: text(name).split("\n", 1)[0].lstrip("#/ ") for name in sources}
    assert [n for n, line in lines.items() if line != "SPDX-License-Identifier: Apache-2.0"] == []


def test_modules_are_short():
    sizes = {name: text(name).count("\n") for name in python("src", "bench")}
    assert {name: size for name, size in sizes.items() if size > LONGEST_MODULE} == {}


def test_functions_are_short():
    long = {
        f"{name}:{function.name}"
        for name in python("src", "bench")
        for function in functions(name)
        if lines_of(function) > LONGEST_FUNCTION
    }
    assert long == set(LONG_FUNCTIONS)


def test_functions_take_few_arguments():
    many = {
        f"{name}:{function.name}"
        for name in python("src")
        for function in functions(name)
        if arguments_of(function) > MOST_ARGUMENTS
    }
    assert many == set(MANY_ARGUMENTS)


def test_names_say_what_a_module_is_about():
    vague = re.compile(r"(^|[/_.])(utils?|helpers?|common|managers?|misc)([/_.]|$)")
    assert [name for name in files("src", "bench", "tests", "cpp") if vague.search(name)] == []


def test_the_library_prints_and_logs_nothing():
    """What is not said cannot give anybody away; the command line is for saying things."""
    loud = []
    for name in python("src/tacit"):
        if name.startswith("src/tacit/cli/"):
            continue
        for node in ast.walk(ast.parse(text(name))):
            called = node.func.id if isinstance(node, ast.Call) and hasattr(node.func, "id") else ""
            imported = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            imported += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            if called == "print" or "logging" in imported:
                loud.append(f"{name}:{node.lineno}")
    assert loud == []


# Records with arrays of public or released numbers, which may be shown.
SHOWN_ARRAYS = {
    "datasets/experiment.py:Experiment": "made up",
    "serving/nearest.py:_Rows": "of items",
    "serving/rank.py:Folded": "a user's own, handed to herself",
    "solvers/averaged_factors.py:AveragedFactors": "released",
    "solvers/cleansing.py:Cleansed": "released",
    "solvers/factor_shrinkage.py:Posterior": "released",
    "solvers/implicit.py:Users": "released",
    "solvers/item_likelihood.py:ShrunkGrams": "released",
    "solvers/offsets.py:Offsets": "released",
    "solvers/preparation.py:Prepared": "released",
}


def shows_arrays(record: ast.ClassDef) -> bool:
    """Whether the repr that Python makes for a record would print an array."""
    made_by = " ".join(map(ast.unparse, (*record.decorator_list, *record.bases)))
    own = any(isinstance(each, ast.FunctionDef) and each.name == "__repr__" for each in record.body)
    if own or "repr=False" in made_by or not re.search("dataclass|NamedTuple", made_by):
        return False
    return any(
        re.search("NDArray|sparse|Table|Sums", ast.unparse(each.annotation))
        and not (each.value and "repr=False" in ast.unparse(each.value))
        for each in record.body
        if isinstance(each, ast.AnnAssign)
    )


def test_no_record_prints_rows_of_users():
    """A repr ends up in logs and in error reports."""
    found = {
        f"{name.removeprefix('src/tacit/')}:{node.name}"
        for name in python("src/tacit")
        for node in ast.walk(ast.parse(text(name)))
        if isinstance(node, ast.ClassDef) and shows_arrays(node)
    }
    assert found == set(SHOWN_ARRAYS)


ORDINARY_RANDOMNESS = {
    "src/tacit/audit/made_up.py": "made-up users",
    "src/tacit/evaluation/split.py": "splits of raw data, repeatable by a public seed",
    "src/tacit/descent/state.py": "the first factors, which see no data",
    "src/tacit/solvers/averaged_factors.py": "the same",
    "src/tacit/solvers/als.py": "the first factors, which see no data",
    "src/tacit/solvers/item_loss.py": "the same",
    "src/tacit/solvers/frank_wolfe.py": "start vectors of Oja's method, which see no data",
    "src/tacit/solvers/svd.py": "start vectors of Oja's method, which see no data",
    "src/tacit/solvers/gradient.py": "as als.py",
    "src/tacit/solvers/spectral.py": "directions to begin with, which see no data",
    "src/tacit/solvers/langevin.py": "the first factors, which see no data",
    "src/tacit/data/split.py": "splits for experiments, repeatable by a public seed",
}


def test_noise_is_drawn_in_mechanisms_only():
    """Ordinary generators make data up and split it; never a number that hides a user."""
    ordinary = re.compile(
        r"default_rng|(np|numpy)\.random\.(?!Generator)|\bimport (random|secrets)\b"
    )
    secret = re.compile(r"urandom|\bCipher\b|SystemRandom")
    apart = ("src/tacit/datasets/", "src/tacit/mechanisms/")
    sources = {name: text(name) for name in python("src/tacit")}
    found = {n for n, code in sources.items() if not n.startswith(apart) and ordinary.search(code)}
    assert found == set(ORDINARY_RANDOMNESS)
    assert not any(ordinary.search(text(name)) for name in python("src/tacit/mechanisms"))
    assert [n for n, code in sources.items() if secret.search(code)] == [
        "src/tacit/mechanisms/entropy.py"
    ]


def test_importing_tacit_costs_nothing():
    heavy = ("numpy", "scipy", "duckdb", "pyarrow", "pandas", "cryptography", "dp_accounting")
    script = f"import sys, tacit; sys.exit(', '.join({heavy!r} & sys.modules.keys()) or 0)"
    script = script.replace(repr(heavy), repr(set(heavy)))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""
    assert done.returncode == 0


# --- pages ---------------------------------------------------------------------------------------

NAMED_BUT_ABSENT = {
    "docs/reading.md": {"trainIdx1.txt"},  # a file of somebody else's
    "docs/architecture.md": {"setup.py"},  # named to say that it is not there
}
FILE = re.compile(
    r"(?<![\w/.*<>-])((?:\.?[\w-]+/)*[\w-]+\.(?:md|py|pyi|toml|hpp|cpp|txt))(?![\w/])"
)
FOLDER = re.compile(rf"(?<![\w/.])((?:{'|'.join(FOLDERS[:-1])})/[\w/-]*)(?![\w./*-])")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def absent_files(page: str) -> set[str]:
    """Files that a page names and that are nowhere in the repository."""
    named = set(FILE.findall(text(page)))
    return {name for name in named if not any(f"/{each}".endswith(f"/{name}") for each in ALL)}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    assert absent_files(page) == NAMED_BUT_ABSENT.get(page, set())
    folders = {name for name in FOLDER.findall(text(page)) if not (ROOT / name).exists()}
    assert folders == set()
    links = [link for link in LINK.findall(text(page)) if ":" not in link]
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_the_tree_of_the_architecture_is_the_tree():
    """Every package, every algorithm and every folder of tests has its place on that page."""
    page = text("docs/architecture.md")
    tree = page.split("## The tree shows the flow", 1)[1].split("\n## ", 1)[0]
    package = ROOT / "src" / "tacit"
    folders = {path.name for path in package.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(re.findall(r"^ {6}(\w+)/", tree, re.MULTILINE))
    alone = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    assert alone == set(re.findall(r"^ {6}(\w+\.py)", tree, re.MULTILINE))
    kinds = {kind.__module__.rpartition(".")[2] for kind in (SOLVERS | UNPROTECTED).values()}
    mechanisms = {path.stem for path in (package / "mechanisms").glob("[a-z]*.py")}
    tests = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()} - MADE
    for named in (kinds, mechanisms, tests):
        assert {name for name in named if not re.search(rf"\b{name}\b", tree)} == set()


def test_every_test_that_a_proof_names_is_there():
    names = {function.name for name in python("tests") for function in functions(name)}
    for page in PAGES:
        named = set(re.findall(r"`(test_\w+)`", text(page)))
        assert named <= names, page


def test_every_proof_is_linked_and_every_contribution_has_one():
    pages = {name.removeprefix("proofs/") for name in PAGES if name.startswith("proofs/")}
    linked = set(LINK.findall(text("proofs/README.md")))
    assert pages - {"README.md"} <= linked
    for name, contribution in REGISTRY.items():
        found = re.findall(r"proofs/(contributions/[\w-]+\.md)", contribution.__doc__)
        assert len(found) == 1, f"{name} names no page of proofs"
        assert found[0] in pages, name
        assert name in text(f"proofs/{found[0]}"), f"{found[0]} does not speak of {name}"


def test_every_mechanism_is_on_a_page_of_proofs():
    proofs = "".join(text(name) for name in PAGES if name.startswith("proofs/"))
    for name in python("src/tacit/mechanisms"):
        for node in ast.parse(text(name)).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and "Guarantee" in (
                ast.get_docstring(node) or ""
            ):
                assert "proofs/" in ast.get_docstring(node), f"{name}: {node.name}"
        module = Path(name).stem
        assert module == "__init__" or module in proofs, f"{name} is on no page of proofs"


def test_no_file_names_a_registry_or_somebody_s_folder():
    """Where packages come from, and where somebody keeps his work, is nobody else's business."""
    host = r"\b(?:pypi|pythonhosted|npmjs|anaconda|crates)\.(?:org|com|io)\b"
    place = re.compile(host + r"|(?<![\w.])/(?:home|root|Users|work)/\w")
    found = []
    for name in ALL:
        try:
            content = text(name)
        except UnicodeDecodeError:
            continue
        found += [f"{name}: {match[0]}" for match in place.finditer(content)]
    assert found == []

"""pytest collects all of test/ in one run: it imports modules by their base names, so no two may share one."""

from collections import defaultdict

from tree import CHECKOUT, Tree, check, make_tree

PACKAGES = ("test/python/strata_seen_package/",)  # modules of a package, which tests import by its name


def shared_names(tree):
    places = defaultdict(list)
    for file in tree.files:
        if file.startswith("test/") and file.endswith(".py") and not file.startswith(PACKAGES):
            places[file.rsplit("/", 1)[-1]].append(file)
    return {name: f"{' and '.join(files)} have the same base name" for name, files in places.items() if len(files) > 1}


def test_no_two_modules_share_a_base_name():
    check(shared_names(Tree(CHECKOUT)), {}, "Rename one of them after its subject.")


def test_a_shared_base_name_is_found(tmp_path):
    files = dict.fromkeys(["test/a/test_x.py", "test/b/test_x.py", "test/b/test_y.py", "tools/test_y.py"], "")
    assert list(shared_names(make_tree(tmp_path, files))) == ["test_x.py"]

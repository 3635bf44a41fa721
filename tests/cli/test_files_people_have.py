"""Workbooks, folders of texts, several files, files of Windows programs, and texts in several columns."""

import csv
import json

import openpyxl
import pytest

PASSWORD = ["reset my password", "forgot my password", "password reset fails"]
PRINTER = ["printer jam again", "paper jam", "printer paper is empty"]
CLUSTER = ["-k", 2, "-e", "tfidf"]


def rows(path, **options):
    with path.open(newline="", **options) as stream:
        return list(csv.reader(stream))


def groups(clusters):
    """Whether the first three and the last three are together."""
    return len(set(clusters[:3])) == len(set(clusters[3:])) == 1 and clusters[0] != clusters[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_workbook_becomes_a_workbook(invoke, folder):
    book = openpyxl.Workbook()
    for row in [("id", "text"), *enumerate(PASSWORD + PRINTER), (6, 4711)]:
        book.active.append(row)
    book.save("t.xlsx")
    run = invoke("cluster", "t.xlsx", *CLUSTER, "-o", "out")
    assert "7 texts from column 'text'" in run.stderr
    sheet = openpyxl.load_workbook(folder / "out" / "assignments.xlsx").active
    written = [list(row) for row in sheet.iter_rows(values_only=True)]
    assert written[0][:5] == ["id", "text", "cluster", "cluster_name", "confidence"]
    assert [row[0] for row in written[1:]] == list(range(7))  # ids are numbers still
    assert groups([row[2] for row in written[1:7]])
    assert "Excel cannot be printed" in invoke("assign", "out", "t.xlsx", code=2).stderr
    invoke("assign", "out", "t.xlsx", "-o", "again.csv")
    assert [row[2] for row in rows(folder / "again.csv")[1:]] == [str(row[2]) for row in written[1:]]


def test_a_folder_of_texts_is_read_with_its_file_names(invoke, folder):
    (folder / "texts" / "sub").mkdir(parents=True)
    for number, text in enumerate(PASSWORD + PRINTER):
        place = folder / "texts" / ("sub" if number > 2 else "") / f"{number}.txt"
        place.write_text(f"{text}\n\nSecond paragraph.\n")
    (folder / "texts" / "0.txt").write_bytes("reset my password, café\n".encode("cp1252"))
    run = invoke("cluster", "texts", *CLUSTER, "-o", "out")
    assert "0.txt is not UTF-8 and was read as Windows-1252" in run.stderr
    written = rows(folder / "out" / "assignments.csv")
    assert [row[0] for row in written] == ["file", "0.txt", "1.txt", "2.txt", "sub/3.txt", "sub/4.txt", "sub/5.txt"]
    assert written[2][1] == f"{PASSWORD[1]}\n\nSecond paragraph.\n"
    assert groups([row[2] for row in written[1:]])


def test_several_files_become_one_table(invoke, folder):
    (folder / "a.csv").write_text("id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(PASSWORD)))
    (folder / "b.jsonl").write_text("".join(json.dumps({"text": text, "n": 1}) + "\n" for text in PRINTER))
    run = invoke("cluster", "a.csv", "b.jsonl", *CLUSTER, "-o", "out")
    assert "b.jsonl has no column 'id', so its rows are empty there." in run.stderr
    written = rows(folder / "out" / "assignments.csv")
    assert written[0][:7] == ["file", "id", "text", "n", "cluster", "cluster_name", "confidence"]
    assert [row[:4] for row in written[1:]] == [
        *(["a.csv", str(i), text, ""] for i, text in enumerate(PASSWORD)),
        *(["b.jsonl", "", text, "1"] for text in PRINTER),
    ]
    assigned = invoke("assign", "out", "a.csv", "b.jsonl").stdout.splitlines()
    assert assigned == (folder / "out" / "assignments.csv").read_text().splitlines()
    assert "named twice" in invoke("cluster", "a.csv", "a.csv", *CLUSTER, code=2).stderr


def test_several_text_columns_are_joined(invoke, folder):
    subjects = ["Login", "Login", "", "Print", "", "Print"]
    lines = [f"{s},{text}" for s, text in zip(subjects, PASSWORD + PRINTER, strict=True)]
    (folder / "t.csv").write_text("\n".join(["subject,body", *lines, ""]))
    run = invoke("cluster", "t.csv", *CLUSTER, "--text-columns", "subject, body", "--json", "-o", "out")
    assert "6 texts from columns 'subject', 'body'" in run.stderr
    examples = [example for row in json.loads(run.stdout) for example in row["examples"]]
    assert any(example.startswith("Login ") and example.endswith("my password") for example in examples)
    assert rows(folder / "out" / "assignments.csv")[3][:2] == ["", PASSWORD[2]]
    run = invoke("cluster", "t.csv", *CLUSTER, "--text-columns", "subjekt,body", code=2)
    assert "There is no column 'subjekt'. Did you mean 'subject'?" in run.stderr
    assert "one of the two" in invoke("cluster", "t.csv", *CLUSTER, "--text-columns", "a", "-c", "b", code=2).stderr


def test_a_file_of_a_windows_program_keeps_its_encoding_and_delimiter(invoke, folder):
    text = "nr;text\r\n" + "".join(f"{i:03};{text} für später\r\n" for i, text in enumerate(PASSWORD + PRINTER))
    (folder / "t.csv").write_bytes(text.encode("cp1252"))
    run = invoke("cluster", "t.csv", *CLUSTER, "-o", "out")
    assert "t.csv is not UTF-8 and was read as Windows-1252 (cp1252)." in run.stderr
    assert "t.csv has ';' between its columns." in run.stderr
    written = (folder / "out" / "assignments.csv").read_bytes().decode("cp1252").splitlines()
    assert written[0].startswith("nr;text;cluster;cluster_name;confidence")
    assert written[1].startswith("000;reset my password für später;")
    assert "für" in (folder / "out" / "clusters.csv").read_bytes().decode("cp1252")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_the_line_that_tells_excel_the_delimiter_is_no_row(invoke, folder, encoding):
    rows = "".join(f"{i};{text}, ü\r\n" for i, text in enumerate(PASSWORD + PRINTER))
    (folder / "t.csv").write_bytes(f"sep=;\r\nnr;text\r\n{rows}".encode(encoding))
    run = invoke("cluster", "t.csv", *CLUSTER, "--no-report", "-o", "out")
    assert "t.csv has ';' between its columns, as its first line says." in run.stderr
    assert "6 texts from column 'text'" in run.stderr
    written = (folder / "out" / "assignments.csv").read_bytes()
    assert written.decode(encoding).startswith("nr;text;cluster;")
    assert written.startswith("n".encode(encoding))  # the byte order mark is kept


def test_a_file_without_a_header_loses_no_row(invoke, folder):
    (folder / "t.csv").write_text("".join(f"{i},{text}\n" for i, text in enumerate(PASSWORD + PRINTER)))
    run = invoke("cluster", "t.csv", *CLUSTER, "--no-save")
    assert "the first row looks like data, so the columns are called column_1 to column_2." in run.stderr
    assert "6 texts from column 'column_2'" in run.stderr
    assert "5 texts" in invoke("cluster", "t.csv", *CLUSTER, "--header", "-c", PASSWORD[0], "--no-save").stderr

"""The documentation site: what MkDocs needs beside the pages in docs/."""

"""Every question that needs a dialog goes through one service, so that no test meets a modal."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from .text import tr

CLOUD_FILTER = (
    "Point clouds (*.laz *.las *.copc.laz *.e57 *.ply *.pcd *.ptx *.pts *.xyz *.txt *.csv *.asc "
    "ept.json);;All files (*)"
)
PROJECT_FILTER = "oniyanma project (*.oniyanma);;All files (*)"
EXPORT_FILTER = "LAZ (*.laz);;LAS (*.las);;COPC (*.copc.laz);;PLY (*.ply);;CSV (*.csv)"
REPORT_FILTER = "PDF (*.pdf);;CSV (*.csv);;GeoJSON (*.geojson);;JSON Lines (*.jsonl)"


class Dialogs(Protocol):
    """The questions there are: files, one confirmation, leaving with an export running."""

    def open_file(self, title: str, folder: str, filter: str) -> str: ...

    def save_file(self, title: str, suggested: str, filter: str) -> str: ...

    def confirm(self, title: str, text: str, yes: str) -> bool: ...


class QtDialogs:
    """The desktop's own dialogs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.parent = parent

    def open_file(self, title: str, folder: str, filter: str) -> str:
        return QFileDialog.getOpenFileName(self.parent, title, folder, filter)[0]

    def save_file(self, title: str, suggested: str, filter: str) -> str:
        return QFileDialog.getSaveFileName(self.parent, title, suggested, filter)[0]

    def confirm(self, title: str, text: str, yes: str) -> bool:
        box = QMessageBox(self.parent)
        box.setWindowTitle(title)
        box.setText(title)
        box.setInformativeText(text)
        button = box.addButton(yes, QMessageBox.ButtonRole.DestructiveRole)
        stay = box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(stay)
        box.exec()
        return box.clickedButton() is button

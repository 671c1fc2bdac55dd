"""How the wheel is built: maturin for the module, and before it cargo for what goes beside it.

The wheel has the command `ane` in its scripts, and the library that `ane exec` preloads in `lib/ane` below the prefix, where
the command looks for it. maturin takes both from `target/wheel`, in the layout of a wheel's data.

`ANE_WHEEL_PROFILE` names another profile of cargo than `release`: `dev` uses what `cargo build` made already.
"""

import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import build_sdist, get_requires_for_build_sdist, get_requires_for_build_wheel  # noqa: F401

get_requires_for_build_editable = get_requires_for_build_wheel

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "target" / "wheel"
# The module's package too, though maturin builds it: so that what they share is compiled once, with the same features.
PACKAGES = ["ane", "ane-drm-shim", "ane-python"]
PLACES = {"ane": "scripts/ane", "libane_drm_shim.so": "data/lib/ane/libane_drm_shim.so"}


def _profile():
    return os.environ.get("ANE_WHEEL_PROFILE") or "release"


def _beside():
    """Builds the command and the library, and puts them where maturin finds them."""
    profile = _profile()
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    names = [word for package in PACKAGES for word in ("--package", package)]
    subprocess.run(["cargo", "build", "--locked", "--profile", profile, *names], cwd=ROOT, check=True)
    built = target / ("debug" if profile == "dev" else profile)
    shutil.rmtree(DATA, ignore_errors=True)
    strip = shutil.which("strip")
    for name, place in PLACES.items():
        to = DATA / place
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built / name, to)
        if strip:
            subprocess.run([strip, "--strip-all" if name == "ane" else "--strip-unneeded", to], check=True)


def _settings(config_settings):
    """What maturin is told: the profile, and a tag that says on which systems the wheel runs."""
    settings = dict(config_settings or {})
    own = f"--profile {_profile()}"
    if os.environ.get("ANE_WHEEL_COMPATIBILITY"):
        own += f" --compatibility {os.environ['ANE_WHEEL_COMPATIBILITY']}"
    settings["build-args"] = f"{settings.get('build-args', '')} {own}".strip()
    return settings


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _beside()
    return maturin.build_wheel(wheel_directory, _settings(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _beside()
    return maturin.build_editable(wheel_directory, _settings(config_settings), metadata_directory)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    # Nothing is in there yet; that it is there is all that maturin asks for.
    DATA.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, _settings(config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel

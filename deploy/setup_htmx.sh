# Sourced by deploy/setup: htmx, with which the console's pages refresh themselves, out of a package of the index that pip
# uses. The console works without it, so not having it is a remark.
readonly htmx_folder="$local_dir/console"
readonly htmx_package=django-htmx==1.29.0 # Carries htmx 2.0.10 as it was released; nothing else of it is used.
readonly htmx_wheel_sha256=0ec5be1645ed71e6787bd75e0250624f00274ac3bb1730f07b6629a95688929b

htmx() {
    if [[ -e "$htmx_folder/htmx.min.js" ]]; then return; fi
    say "fetching htmx for the console ($htmx_package)"
    if ! make_venv || ! fetch_wheel "$htmx_package" "$htmx_wheel_sha256"; then
        say "note: htmx is not here; the console's pages do not refresh by themselves"
        rm -rf "$work" && work=""
        return
    fi
    mkdir "$work/console"
    cp "$work/wheel/django_htmx/static/django_htmx/htmx-2.min.js" "$work/console/htmx.min.js"
    htmx_licence >"$work/console/htmx-LICENSE"
    put_in_place "$work/console" "$htmx_folder"
}

# The package has no file of it: Zero-Clause BSD, as https://github.com/bigskysoftware/htmx has it.
htmx_licence() {
    cat <<'END'
htmx 2.0.10, https://htmx.org

Zero-Clause BSD
=============

Permission to use, copy, modify, and/or distribute this software for
any purpose with or without fee is hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL
WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES
OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE
FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY
DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN
AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT
OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
END
}

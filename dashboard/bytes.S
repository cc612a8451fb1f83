// The compressed files of the page, as they are sent to browsers.
    .section .note.GNU-stack, "", %progbits
    .section .rodata

    .macro file name, path
    .global fairlock_\name\()_begin
    .global fairlock_\name\()_end
fairlock_\name\()_begin:
    .incbin "\path"
fairlock_\name\()_end:
    .endm

    file index, "index.html.gz"
    file icon, "icon.svg.gz"
    file style, "page.css.gz"
    file script, "page.js.gz"

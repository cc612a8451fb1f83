// Properties of the output: whether it is a terminal, its width, colours and charset.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/output/printable.h"

namespace fairlock::cli {

enum class Tint { kNone, kHeading, kGood, kWarning, kBad, kFaint };

struct Screen {
  bool is_terminal = false;
  bool has_colours = false;
  std::size_t columns = 0;  // 0 means unlimited
  // Tables may drop columns instead of making the others too narrow to read.
  bool may_drop_columns = false;
  Charset charset = Charset::kAscii;

  // Wraps the text in the tint's escape codes if colours are enabled.
  std::string Tinted(std::string_view printable, Tint tint) const;
  std::string Printable(std::string_view bytes) const { return cli::Printable(bytes, charset); }
  std::string Quoted(std::string_view bytes) const { return cli::Quoted(bytes, charset); }
};

// Inspects the descriptor. Colours are enabled only on a terminal, without NO_COLOR, and unless
// TERM is "dumb".
Screen DetectScreen(int descriptor, Charset charset);

}  // namespace fairlock::cli

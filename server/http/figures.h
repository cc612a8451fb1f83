// The figures that the HTTP code stores itself.
#pragma once

#include "server/http/minute_figures.h"
#include "server/http/shared_answers.h"

namespace fairlock::http {

// Loop-confined.
struct Figures {
  MinuteFigures minutes;
  SharedAnswers shared;
};

}  // namespace fairlock::http

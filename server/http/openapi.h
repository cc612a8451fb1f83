// The description of the API in OpenAPI 3.1, from the table of its routes.
#pragma once

#include <span>
#include <string>

#include "server/http/route.h"

namespace fairlock::http {

// A JSON document.
std::string Describe(std::span<const Route* const> routes, std::string_view version);

}  // namespace fairlock::http

// Generates the OpenAPI 3.1 description of the API from the route table.
#pragma once

#include <span>
#include <string>

#include "server/http/route.h"

namespace fairlock::http {

// Returns a JSON document.
std::string Describe(std::span<const Route* const> routes, std::string_view version);

}  // namespace fairlock::http

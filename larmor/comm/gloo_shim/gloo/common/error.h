// Stands in for a Gloo header; see gloo/algorithm.h.
#pragma once

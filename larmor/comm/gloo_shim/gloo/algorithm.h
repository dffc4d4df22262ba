// libtorch ships c10d's Gloo header but not the Gloo headers that it includes. These five files declare
// just enough for it to compile. Rule: no Gloo object is made, subclassed or looked into here; they are
// only handed from one libtorch function to the next.
#pragma once

